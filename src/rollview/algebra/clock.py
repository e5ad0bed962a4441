"""The clock: a relation of exactly one row, which time filters read.

σ_{p(c)}(R) = R ⋉_p C, where C holds the one reading c. So the view at a tick is its SQL with the clock's functions
replaced by the reading that was current at that tick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeGuard

from sqlglot import exp

from rollview.algebra.relation import Filter, Join, Project, Relation, Scan, SemiJoin
from rollview.algebra.scalar import Scalar, col
from rollview.algebra.schema import BaseTable, Column
from rollview.algebra.walking import rebuilt, tables
from rollview.names import CLOCK

NOW, TODAY = "now", "today"
CLOCK_TABLE = BaseTable(CLOCK, (Column(NOW, "timestamp", nullable=False), Column(TODAY, "date", nullable=False)))

Reading = Mapping[str, Scalar]
"""the clock's columns as expressions"""


def is_clock(node: Relation) -> TypeGuard[Scan]:
    return isinstance(node, Scan) and node.table == CLOCK


def is_time_filter(node: Relation) -> TypeGuard[SemiJoin]:
    return isinstance(node, SemiJoin) and is_clock(node.right)


def as_called(node: Relation) -> Relation:
    """The relation with Spark's own functions of the clock."""
    called = {NOW: Scalar(exp.CurrentTimestamp()), TODAY: Scalar(exp.CurrentDate())}
    return read_clock(node, lambda scan: called)


def read_clock(node: Relation, reading: Callable[[Scan], Reading]) -> Relation:
    """The same relation without the clock: its one row stands in the expressions, where literals prune files."""
    if CLOCK not in tables(node):
        return node
    done: dict[int, Relation] = {}

    def known(scan: Scan) -> dict[str, Scalar]:
        given = reading(scan)
        return {name: given[column] for column, name in scan.columns}

    def replaced(part: Relation) -> Relation:
        if id(part) not in done:
            done[id(part)] = without_clock(part)
        return done[id(part)]

    def without_clock(part: Relation) -> Relation:
        match part:
            case SemiJoin() if is_clock(part.right):
                return Filter(replaced(part.left), part.predicate.substitute(known(part.right)))
            case Join() if is_clock(part.right) and part.predicate is None:
                left = replaced(part.left)
                return Project(left, (*((n, col(n)) for n in left.names), *known(part.right).items()))
            case _:
                return rebuilt(part, replaced)

    return replaced(node)
