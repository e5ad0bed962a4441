"""A view rolled through yesterday, hour by hour.

Yesterday's transactions are loaded with the times at which they happened, and propagated ahead in steps of six hours of
that clock. The view is then read at any moment without being touched, and rolled from each full hour to the next.
Run it with `python examples/through_the_day.py`; it works in a temporary folder, or in the one that you name.
"""

import sys
import tempfile
from datetime import UTC, datetime, timedelta
from random import Random

import rollview

HOUR = timedelta(hours=1)


def main(folder: str) -> None:
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - 24 * HOUR
    wh = rollview.open(folder)
    wh.create_table("sales", "sale_id BIGINT, city STRING, price DECIMAL(10,2)", key=["sale_id"])
    wh.create_view("city_sales", "SELECT city, SUM(price) AS total, COUNT(*) AS n FROM sales GROUP BY city")
    rng, moment, sale = Random(1), midnight, 0
    while (moment := moment + rng.uniform(0.4, 1.2) * HOUR) < midnight + 24 * HOUR:
        with wh.transaction(at=moment) as tx:
            busy = 2 + min(moment.hour, 24 - moment.hour)  # most is sold around noon
            rows = [(sale + i, rng.choice(("Oslo", "Rome")), f"{rng.randint(1, 90)}.50") for i in range(busy)]
            tx.insert("sales", rows)
            sale += busy

    for step in wh.propagate("city_sales", step={"seconds": 6 * 3600}):  # nothing is merged yet
        print(f"ticks {step.since:>2} to {step.upto:>2}: {step.rows} changes in {step.seconds:.2f} s")
    noon = {r["city"]: r["n"] for r in wh.table("city_sales", at=midnight + 12 * HOUR).collect()}
    print(f"sold by noon: {noon}")  # the extent plus its view delta

    for hour in range(1, 25):
        report = wh.apply("city_sales", to=midnight + hour * HOUR)
        sold = sum(r["n"] for r in wh.table("city_sales").collect())
        behind = wh.tick - report.upto
        print(f"{hour:>2}:00  tick {report.upto:>2}  {sold:>3} sold  {behind:>2} ticks behind {'▇' * behind}")
    assert wh.verify("city_sales").ok


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(folder)
