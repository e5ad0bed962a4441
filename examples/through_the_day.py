"""A view rolled through a day, hour by hour, and a chart of its lag.

The day's transactions are propagated ahead in bounded steps; the view is then read and rolled at every hour.
Run it with `python examples/through_the_day.py`; it works in a temporary folder, or in the one that you name.
"""

import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import rollview

HOURS = 24


def main(folder: str) -> None:
    wh = rollview.open(folder)
    wh.create_table("sales", "sale_id BIGINT, city STRING, price DECIMAL(10,2)", key=["sale_id"])
    wh.create_view("city_sales", "SELECT city, SUM(price) AS total, COUNT(*) AS n FROM sales GROUP BY city")
    opened = wh.tick
    for hour in range(HOURS):  # one transaction an hour; more sales around noon
        with wh.transaction() as tx:
            rows = [(hour * 100 + i, ("Oslo", "Rome")[i % 2], f"{i}.50") for i in range(1 + hour * (23 - hour) // 12)]
            tx.insert("sales", rows)

    for step in wh.propagate("city_sales", step={"rows": 40}):  # nothing is merged yet
        print(f"ticks {step.since:>2} to {step.upto:>2}: {step.rows} changes in {step.seconds:.2f} s")
    hours = [opened + 1 + hour for hour in range(HOURS)]
    for tick in hours[::6]:
        totals = {r["city"]: r["total"] for r in wh.table("city_sales", at=tick).collect()}
        print(f"at {wh.when(tick):%H:%M:%S.%f} (tick {tick}): {totals}")  # the extent plus its view delta

    lag = []
    for tick in hours[3::4]:  # a consumer that wants the view every four hours, as it was then
        moment = wh.when(tick)
        assert moment is not None
        lag.append((tick, wh.tick - wh.apply("city_sales", to=moment).upto))
        assert wh.verify("city_sales").ok
    chart = Path(folder) / "lag.svg"
    chart.write_text(svg(lag))
    print(f"the lag while it was rolled, in ticks: {chart}")


def svg(points: list[tuple[int, int]]) -> str:
    """A line from left to right, the lag upwards."""
    first, last, most = points[0][0], points[-1][0], max(lag for _, lag in points) or 1
    places = [(40 + 520 * (x - first) / (last - first), 180 - 150 * lag / most) for x, lag in points]
    lines = "".join(
        f'<line x1="{a:.0f}" y1="{b:.0f}" x2="{c:.0f}" y2="{b:.0f}" stroke="black"/>'
        f'<line x1="{c:.0f}" y1="{b:.0f}" x2="{c:.0f}" y2="{d:.0f}" stroke="black"/>'
        for (a, b), (c, d) in pairwise(places)
    )
    labels = f'<text x="4" y="34">{most}</text><text x="4" y="184">0</text><text x="260" y="200">tick</text>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="600" height="210">{lines}{labels}</svg>'


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(folder)
