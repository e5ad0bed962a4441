"""A case is a seed: declarations, a view and a history, all from one random generator."""

from __future__ import annotations

import os
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from tests.law import Subject
from tests.property.random_tables import declared, history
from tests.property.random_views import Views
from tests.steps import Rows, Step

from rollview.rules.dispatch import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rollview.algebra.schema import Tables


@dataclass
class Case:
    seed: int
    tables: Tables
    sql: str
    states: list[Rows]

    @classmethod
    def of(cls, seed: int) -> Case:
        rng = Random(seed)
        tables = declared(rng)
        return cls(seed, tables, Views(rng, tables).view(), history(rng, rng.randint(2, 4)))

    def spans(self) -> Iterator[tuple[int, int]]:
        """The small steps, then the big one."""
        last = len(self.states) - 1
        yield from ((i, i + 1) for i in range(last))
        if last > 1:
            yield 0, last

    def step(self, since: int, upto: int) -> Step:
        return Step(self.tables, self.states[since], self.states[upto])


def check(case: Case) -> None:
    """The law on the interpreter, with and without the use of foreign keys, with exact and with loose shapes."""
    subject = Subject.of(case.sql, case.tables)
    right = []
    for i in range(len(case.states)):
        step = case.step(i, i)
        right.append(subject.stored(step))
        assert subject.read(step, right[i]) == subject.meant(step), "readers see something else than the SQL says"
    for since, upto in case.spans():
        step = case.step(since, upto)
        for foreign_keys in (False, True):
            found = subject.advance(step, right[since], foreign_keys=foreign_keys)
            assert found == right[upto], f"{since}..{upto}, foreign_keys={foreign_keys}"
    leap = case.step(0, -1)
    assert subject.advance(leap, right[0], foreign_keys=True, shapes=loose(leap)) == right[-1], "loose shapes"


def loose(step: Step) -> dict[str, Shape]:
    """Shapes that promise less than is true: any change may occur in any table."""
    return {name: Shape(updates=table.key is not None) for name, table in step.tables.items()}


def number(normal: int) -> int:
    """How many cases to run: ROLLVIEW_CASES, or the normal number."""
    return int(os.environ.get("ROLLVIEW_CASES", normal))
