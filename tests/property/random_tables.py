"""Random declarations of seven small tables, and random histories that keep every declared key and foreign key."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rollview.algebra.schema import BaseTable, Column, ForeignKey, Tables

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from tests.steps import Rows


def ints(*names: str) -> tuple[Column, ...]:
    return tuple(Column(n, "int") for n in names)


PARENTS_FIRST = (
    BaseTable("r", ints("id", "a", "b"), ("id",)),
    BaseTable("s", ints("id", "r_id", "c"), ("id",), (ForeignKey(("r_id",), "r", ("id",)),)),
    BaseTable(
        "v",
        ints("id", "s_id", "r_id", "e"),
        ("id",),
        (ForeignKey(("s_id",), "s", ("id",)), ForeignKey(("r_id",), "r", ("id",))),
    ),
    BaseTable("t", ints("k", "l", "d"), ("k", "l")),
    BaseTable("w", ints("k", "l", "f"), None, (ForeignKey(("k", "l"), "t", ("k", "l")),)),
    BaseTable("u", (*ints("x", "y"), Column("p", "boolean"))),
    BaseTable("e", ints("id", "boss", "z"), ("id",), (ForeignKey(("boss",), "e", ("id",)),)),
)
"""The whole truth; what a case declares is a part of it."""


def declared(rng: Random) -> Tables:
    """Tables with some of their keys and foreign keys declared."""
    found: dict[str, BaseTable] = {}
    for table in PARENTS_FIRST:
        key = table.key if rng.random() < 0.8 else None
        found[table.name] = replace(table, key=key, foreign_keys=())
    for table in PARENTS_FIRST:
        fks = tuple(fk for fk in table.foreign_keys if found[fk.table].key and rng.random() < 0.8)
        found[table.name] = replace(found[table.name], foreign_keys=fks)
    return found


@dataclass(frozen=True)
class Mood:
    """How a table changes: chances that a row goes or is updated, and how many rows come."""

    going: float
    updated: float
    coming: tuple[int, int]


START = Mood(0.0, 0.0, (3, 6))
MOODS = (
    Mood(0.3, 0.3, (0, 2)),
    Mood(0.3, 0.3, (0, 2)),
    Mood(0.0, 0.0, (0, 2)),
    Mood(0.4, 0.0, (0, 0)),
    Mood(0.0, 0.5, (0, 0)),
    Mood(1.0, 0.0, (0, 4)),
)


def history(rng: Random, length: int) -> list[Rows]:
    """States of all tables; between two of them any tables may have changed in any way."""
    states = [state(rng, {t.name: Counter() for t in PARENTS_FIRST}, 0.02, (START,))]
    while len(states) < length:
        moods = rng.choice((MOODS, MOODS, (rng.choice(MOODS),)))
        states.append(state(rng, states[-1], rng.choice((0.0, 0.3, 0.7)), moods))
    return states


def state(rng: Random, old: Rows, calm: float, moods: Sequence[Mood]) -> Rows:
    """The next state; each table stays as it is with probability `calm`, unless a parent forces it to change."""
    new: Rows = {}
    for table in PARENTS_FIRST:
        rows = old[table.name]
        new[table.name] = rows if rng.random() < calm else changed(rng, table, rows, rng.choice(moods))
        new[table.name] = Counter(repaired(rng, table, row, new) for row in new[table.name].elements())
    return new


def changed(rng: Random, table: BaseTable, old: Counter[Any], mood: Mood) -> Counter[Any]:
    rows = [r for r in old.elements() if rng.random() >= mood.going]
    arrivals = range(rng.randint(*mood.coming))
    if table.key is None:
        rows += [rng.choice(rows) if rows and rng.random() < 0.3 else value_row(rng, table) for _ in arrivals]
        return Counter(rows[-6:])
    width = len(table.key)
    by_key = {r[:width]: r for r in rows}
    for key in by_key:
        if rng.random() < mood.updated:
            by_key[key] = (*key, *value_row(rng, table)[width:])
    for _ in arrivals:
        if len(by_key) < 5:
            key = tuple(rng.randint(0, 4 if width == 1 else 2) for _ in range(width))
            by_key.setdefault(key, (*key, *value_row(rng, table)[width:]))
    return Counter(by_key.values())


def value_row(rng: Random, table: BaseTable) -> tuple[Any, ...]:
    return tuple(
        rng.choice((None, True, False)) if c.type == "boolean" else rng.choice((None, 0, 1, 1, 2, 2, 3))
        for c in table.columns
    )


def repaired(rng: Random, table: BaseTable, row: tuple[Any, ...], new: Rows) -> tuple[Any, ...]:
    """The row with every reference to a missing parent replaced."""
    values = dict(zip((c.name for c in table.columns), row, strict=True))
    for fk in table.foreign_keys:
        reference = tuple(values[c] for c in fk.columns)
        parents = sorted({r[: len(fk.referenced)] for r in new[fk.table]})
        if None not in reference and reference not in parents:
            chosen = rng.choice([*parents, (None,) * len(fk.columns)])
            values.update(zip(fk.columns, chosen, strict=True))
    return tuple(values.values())
