"""A refresh may take several queries: the names by which the later ones scan what the earlier ones delivered."""

from __future__ import annotations

from rollview.algebra.relation import AntiJoin, Relation, Scan, SemiJoin
from rollview.algebra.scalar import col, conjunction, equal
from rollview.names import PREFIX

EXTENT = f"{PREFIX}extent"
"""the stored rows"""
CHANGED = f"{PREFIX}changed"
"""what the maintenance query of the plan delivered"""
SETTLED = f"{PREFIX}settled"
"""the same, with what the extent tells of it"""
SUSPECTS = f"{PREFIX}suspects"
"""the groups of which that does not tell enough"""
FRESH = f"{PREFIX}fresh"
"""what was derived for them"""
SUSPECT = f"{PREFIX}suspect"
"""a flag in SETTLED"""

WAYPOINT = f"{PREFIX}waypoint"
"""rows on the way of a change, by their number"""


def waypoint(number: int) -> str:
    return f"{WAYPOINT}{number}"


def is_waypoint(table: str) -> bool:
    return table.startswith(WAYPOINT)


def matched(rows: Relation, changed: str, key: tuple[str, ...]) -> Relation:
    """The rows whose key occurs in another relation."""
    if not key:
        return rows
    marked = tuple((k, f"{PREFIX}of_{k}") for k in key)
    same = conjunction(equal(col(k), col(m)) for k, m in marked)
    assert same is not None
    return SemiJoin(rows, Scan(changed, marked), same)


def unmatched(rows: Relation, changed: str, key: tuple[str, ...]) -> Relation:
    """The others."""
    found = matched(rows, changed, key)
    assert isinstance(found, SemiJoin)
    return AntiJoin(found.left, found.right, found.predicate)


def plain(columns: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((c, c) for c in columns)
