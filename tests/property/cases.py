"""A seed is a view over declared tables and some histories. A case is a view and a history."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.kept import Kept
from tests.law import Subject, check_reserves
from tests.property.random_tables import declared, history
from tests.property.random_views.views import Views
from tests.steps import Rows, Step

from rollview.rules.dispatch import Shape

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

    from rollview.algebra.interpreter import Bag
    from rollview.algebra.schema import Tables

HISTORIES = 2


@dataclass
class Case:
    seed: int
    tables: Tables
    sql: str
    histories: list[list[Rows]]

    @classmethod
    def of(cls, seed: int, *, shared: bool = False, narrow: bool = False, histories: int = HISTORIES) -> Case:
        """`shared` and `narrow` as in tests/property/random_views."""
        rng = Random(seed)
        tables = declared(rng)
        sql = Views(rng, tables, shared=shared, narrow=narrow).view()
        return cls(seed, tables, sql, [history(rng, rng.randint(2, 4)) for _ in range(histories)])


def spans(states: list[Rows]) -> list[tuple[int, int]]:
    """The small steps, then the big one."""
    last = len(states) - 1
    return [*pairwise(range(last + 1)), *([(0, last)] if last > 1 else [])]


def check(case: Case) -> Subject:
    """The law on the interpreter, for every history; the first one by every plan."""
    subject = Subject.of(case.sql, case.tables)
    for number, states in enumerate(case.histories):
        check_states(subject, states, every_plan=number == 0)
    return subject


def check_states(subject: Subject, states: list[Rows], *, every_plan: bool = True) -> None:
    """In small steps and in a big one; by every plan: the big one also by loose shapes, and without foreign keys."""
    right = []
    for state in states:
        step = Step(subject.tables, state, state)
        right.append(subject.stored(step))
        if subject.has_one_meaning:
            assert subject.read(step, right[-1]) == subject.meant(step), "readers see something else than the SQL says"
    reserve = subject.view.extent.reserve
    if reserve is not None and any(rows.total() >= reserve.wanted for rows in right):
        check_reserve(subject, states)
        return
    for since, upto in spans(states):
        step = Step(subject.tables, states[since], states[upto])
        found = subject.advance(step, right[since], foreign_keys=True)
        check_extent(subject, step, found, right[upto], f"{since}..{upto}")
    if not every_plan:
        return
    leap = Step(subject.tables, states[0], states[-1])
    for foreign_keys in (True, False):
        found = subject.advance(leap, right[0], foreign_keys=foreign_keys, shapes=loose(leap))
        check_extent(subject, leap, found, right[-1], f"loose shapes, foreign_keys={foreign_keys}")
    check_extent(subject, leap, subject.advance(leap, right[0], foreign_keys=False), right[-1], "naive")


def check_reserve(subject: Subject, states: list[Rows]) -> None:
    """More rows than are stored: those up to a bound are followed, and derived anew when too few are left."""
    kept = Kept.of(subject, states[0])
    for state in states[1:]:
        kept.advance(state)
        kept.check()


def check_extent(subject: Subject, step: Step, found: Bag, right: Bag, plan: str) -> None:
    """The recompute's rows; where groups have a reserve, more or fewer of its spare ones, and the same for readers."""
    if (reserve := subject.view.extent.group_reserve) is None:
        assert found == right, plan
        return
    check_reserves(reserve, step, found)
    assert subject.read(step, found) == subject.read(step, right), plan


def loose(step: Step) -> dict[str, Shape]:
    """Shapes that promise less than is true: any change may occur in any table."""
    return {name: Shape(updates=table.key is not None) for name, table in step.tables.items()}


def seeds(normal: int) -> int:
    """How many seeds to run: for ROLLVIEW_CASES cases, or the normal number."""
    wanted = os.environ.get("ROLLVIEW_CASES")
    return -(-int(wanted) // HISTORIES) if wanted else normal


def batches(normal: int, size: int) -> list[ParameterSet]:
    """The numbers of the batches of seeds; `make check` runs the first."""
    numbers = range(-(-seeds(normal) // size))
    return [pytest.param(n, marks=pytest.mark.long if n else ()) for n in numbers]
