"""Changes of groups whose states do not add up (MIN, MAX, percentiles …), as signed rows of the extent.

A singular node's change goes on as a signed delta: each changed group as it was stored, lost, and as it is now, gained.
Such changes add up like those of any rows, so they can be stored ahead of the extent, applied and taken back. A group
counts its rows in `__count`, which is the change's name for its own count, so that column is called `__size` here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rollview.algebra.relation import Project, Relation, Scan, State, UnionAll
from rollview.algebra.scalar import col
from rollview.deltas.signed import Signed, rows_as
from rollview.names import COUNT, PREFIX, SIZE
from rollview.plan.stages import CHANGED, EXTENT, matched, plain
from rollview.plan.visible import read, supported

if TYPE_CHECKING:
    from rollview.plan.extent import Extent

SIGN = f"{PREFIX}sign"


def image_columns(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Stored columns as changes call them."""
    return tuple(SIZE if c == COUNT else c for c in columns)


def images(extent: Extent) -> Signed:
    """Δ of the stored groups, from the rows that take their places (CHANGED) and the extent before them; not net."""
    names = image_columns(extent.columns)
    old = matched(Scan(EXTENT, plain(extent.columns), State.BEFORE), CHANGED, extent.key)
    new = supported(extent, Scan(CHANGED, plain(extent.columns)))
    called = tuple((n, col(c)) for n, c in zip(names, extent.columns, strict=True))
    sides = tuple(rows_as(Project(rows, called), n) for rows, n in ((old, -1), (new, 1)))
    return Signed(UnionAll(sides, (*names, COUNT)))


def seen(extent: Extent, *riding: str) -> Signed:
    """What readers see of the change, where they see each group by itself; further columns ride along."""
    names = image_columns(extent.columns)
    changed = Scan(CHANGED, plain((*names, COUNT, *riding)))
    stored: list[tuple[str, str]] = [*zip(extent.columns, names, strict=True), (SIGN, COUNT)]
    rows: Relation = Project(changed, (*((c, col(n)) for c, n in stored), *((c, col(c)) for c in riding)))
    shown = read(extent.reader, rows, SIGN, *riding)
    kept = tuple((n, col(n)) for n in (*extent.reader.names, *riding))
    return Signed(Project(shown, (*kept, (COUNT, col(SIGN)))))
