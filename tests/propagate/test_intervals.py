"""How far a step goes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import accumulate

import pytest

from rollview.catalog import Waiting
from rollview.errors import BadInput
from rollview.propagate.intervals import Period, Rows, Target, Ticks, interval

START = datetime(2026, 1, 1, tzinfo=UTC)


def waiting(*rows: int) -> list[Waiting]:
    """Ticks 11, 12, … one minute apart."""
    return [Waiting(11 + i, n, START + timedelta(minutes=i)) for i, n in enumerate(rows)]


@pytest.mark.parametrize(
    ("step", "upto"),
    [
        (Ticks(2), 12),
        (Ticks(9), 14),
        (Rows(15), 12),
        (Rows(14), 11),
        (Rows(1), 11),
        (Rows(1000), 14),
        (Period(60), 12),
        (Period(0.5), 11),
        (Target(1.0, rows=15), 12),
    ],
)
def test_where_a_step_ends(step: Ticks | Rows | Period | Target, upto: int) -> None:
    assert step.upto(waiting(10, 5, 500, 1)) == upto


def test_equal_commit_times_stay_in_one_period() -> None:
    moments = [Waiting(t, 1, START) for t in (1, 2, 3)]
    assert Period(0.1).upto(moments) == 3


@pytest.mark.parametrize("plain", [0, -1, True, {"rows": 0}, {"hours": 1}, {"rows": 1, "ticks": 1}, {}, {"rows": "9"}])
def test_what_is_no_step(plain: object) -> None:
    with pytest.raises(BadInput) as caught:
        interval(plain)  # type: ignore[arg-type]
    assert caught.value.code == "RV-STEP"


def test_what_users_write() -> None:
    assert interval(None) is None
    assert [interval(p) for p in (3, {"ticks": 3}, {"rows": 9}, {"seconds": 1.5}, {"target": 2.0})] == [
        Ticks(3),
        Ticks(3),
        Rows(9),
        Period(1.5),
        Target(2.0),
    ]


@pytest.mark.parametrize("per_row", [1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize("fixed", [0.0, 0.2])
def test_a_controller_holds_its_target(per_row: float, fixed: float) -> None:
    """No step takes twice the target, and all together take no more than 1.5 times one big step of all rows."""
    left = [100] * 10_000
    step, spent, worst, position = Target(1.0), 0.0, 0.0, 0
    ends = list(accumulate(left))
    while position < len(left):
        done = ends[position - 1] if position else 0
        last = position
        while last + 1 < len(left) and ends[last + 1] - done <= step.rows:
            last += 1
        rows = ends[last] - done
        seconds = fixed + rows * per_row
        spent, worst = spent + seconds, max(worst, seconds)
        step, position = step.after(rows, seconds), last + 1
    assert worst < 2.0
    assert spent <= 1.5 * (fixed + ends[-1] * per_row)
    assert worst > 0.5 or step.rows >= 1000
