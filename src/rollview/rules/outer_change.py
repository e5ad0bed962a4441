"""Outer-join change tables (Gupta and Mumick, Theorem 2 and row 7b): one table gained rows, and nothing else changed.

    □(L ⟗ R) = ΔL ⟕ R, and for every row of R that meets a row of ΔL: its padded row goes, if it is there.

Whether a row of R was padded need not be computed, which would take all of L: the extent knows. So the change of a view
that is stored by key holds deletions that may find nothing. They cannot hurt: a padded row has NULL where the key of L
is, so it shares its key with no other row, and it is not in the view afterwards.

The change goes on upwards through σ, π, joins and outer joins with what did not change. Above, a row is replaced by one
with the same values in the columns that *last*; a further outer join that keeps its other side must read only those,
because only then has a partner that was found always been there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rollview.algebra.relation import (
    AntiJoin,
    Filter,
    Join,
    MarkJoin,
    OuterJoin,
    Project,
    Relation,
    Scan,
    SemiJoin,
    UnionAll,
    keep,
)
from rollview.algebra.scalar import Scalar, col
from rollview.algebra.walking import tables
from rollview.deltas.signed import of_scan, rows_as
from rollview.names import COUNT
from rollview.rules.lookup import met, near
from rollview.rules.outer_join import padded

if TYPE_CHECKING:
    from rollview.algebra.schema import Tables
    from rollview.rules.dispatch import Shapes


@dataclass(frozen=True, slots=True)
class Gain:
    """Rows gained, each with `__count`; rows that go if they are there, by parts; the columns that last; and the key of
    the table that gained, which is NULL in the rows that go."""

    rows: Relation
    goes: tuple[Relation, ...]
    lasting: frozenset[str]
    key: frozenset[str]

    def change(self) -> Relation:
        lost = tuple(rows_as(part, -1) for part in self.goes)
        return UnionAll((self.rows, *lost), self.rows.names)


def outer_change(node: Relation, shapes: Shapes, known: Tables) -> Gain | None:
    """The change table of the node; None if it has none, or needs none."""
    changed = frozenset(t for t in tables(node) if t in shapes and shapes[t].changed)
    if len(changed) != 1 or not all(shapes[t].inserts_only for t in changed):
        return None
    gain = gained(node, changed, known)
    return gain if gain is not None and gain.goes and gain.key else None


def gained(node: Relation, changed: frozenset[str], known: Tables) -> Gain | None:
    match node:
        case Scan():
            key = () if known[node.table].nulls_in_key else known[node.table].key or ()
            names = frozenset(name for column, name in node.columns if column.lower() in {k.lower() for k in key})
            return Gain(of_scan(node).relation, (), frozenset(node.names), names)
        case Filter():
            below = gained(node.source, changed, known)
            return below and through(
                below,
                Filter(below.rows, node.predicate),
                tuple(Filter(part, node.predicate) for part in below.goes),
                below.lasting if node.predicate.columns <= below.lasting else frozenset(),
            )
        case Project():
            below = gained(node.source, changed, known)
            return below and Gain(
                Project(below.rows, (*node.columns, (COUNT, col(COUNT)))),
                tuple(Project(part, node.columns) for part in below.goes),
                frozenset(name for name, e in node.columns if e.column in below.lasting),
                frozenset(name for name, e in node.columns if e.column in below.key),
            )
        case SemiJoin() | AntiJoin() | MarkJoin() if not changed & tables(node.right):
            below = gained(node.left, changed, known)
            return below and through(
                below,
                keep(replace(node, left=below.rows), (*node.names, COUNT)),
                tuple(replace(node, left=part) for part in below.goes),
                below.lasting if node.predicate.columns & set(node.left.names) <= below.lasting else frozenset(),
            )
        case Join() | OuterJoin():
            return beside(node, changed, known)
        case _:
            return None


def beside(node: Join | OuterJoin, changed: frozenset[str], known: Tables) -> Gain | None:
    """One side gained rows, the other did not change."""
    left, right, predicate = node.left, node.right, node.predicate
    if changed & tables(left) and changed & tables(right):
        return None
    keeps = (node.keeps_left, node.keeps_right) if isinstance(node, OuterJoin) else (False, False)
    moving, standing = left, right
    if changed & tables(right):
        moving, standing, keeps = right, left, (keeps[1], keeps[0])
    below = gained(moving, changed, known)
    if below is None:
        return None
    lasts = predicate is None or predicate.columns & set(moving.names) <= below.lasting
    keeps_moving, keeps_standing = keeps
    if keeps_standing and not lasts:
        return None
    names = node.names
    rows = looked_up(below.rows, standing, predicate, keeps=keeps_moving)
    goes: list[Relation] = [
        keep(looked_up(part, standing, predicate, keeps=keeps_moving), names) for part in below.goes
    ]
    lasting = below.lasting | set(standing.names) if lasts else frozenset[str]()
    if keeps_standing:
        assert predicate is not None
        goes.append(padded(SemiJoin(standing, below.rows, predicate), names))
        lasting = frozenset(standing.names)
    return through(below, keep(rows, (*names, COUNT)), tuple(goes), lasting)


def looked_up(few: Relation, standing: Relation, predicate: Scalar | None, *, keeps: bool) -> Relation:
    if not keeps or predicate is None:
        return met(few, standing, predicate)
    return OuterJoin(few, near(standing, few, predicate), predicate)


def through(below: Gain, rows: Relation, goes: tuple[Relation, ...], lasting: frozenset[str]) -> Gain:
    return Gain(rows, goes, lasting, below.key)
