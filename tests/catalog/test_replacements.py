"""The moment at which a view is another: its name, its readers and its parts pass together, or not at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rollview.catalog import ColumnInfo, ControlStore, Moment, Relation
from rollview.errors import SourceError

COLUMNS = (ColumnInfo("id", "bigint", False),)


def make(store: ControlStore, name: str, *reads: str, **definition: Any) -> Relation:
    kind = "view" if reads else "table"
    store.relations.create(name, kind, COLUMNS, created_tick=0, reads=reads, definition=definition)
    return store.relations.set_state(name, "ready")


def names(relations: tuple[Relation, ...]) -> list[str]:
    return [r.name for r in relations]


@pytest.fixture
def pair(store: ControlStore) -> tuple[Relation, Relation]:
    """A view with a part, and what is built beside it, also with a part, over another table; `above` reads the view."""
    make(store, "t")
    make(store, "u")
    make(store, "__v_part1", "t", part_of="v")
    old = make(store, "V", "t", "__v_part1", sql="old")
    make(store, "above", "v")
    make(store, "__next_part1", "u", part_of="__next")
    new = store.relations.create("__next", "view", COLUMNS, created_tick=0, reads=["u", "__next_part1"])
    return old, new


def test_a_swap_passes_everything_on(store: ControlStore, pair: tuple[Relation, Relation]) -> None:
    old, new = pair
    store.marks.record_extent("__next", 4, 77)
    with store.leases.hold("writer") as lease:
        moment = Moment(lease, store.ticks.open_tick(lease, "redefinition"))
        found = store.replacements.swap(old, new, {"sql": "new"}, [store.relations.get("above")], moment)
    assert found == store.relations.get("v") and found.id == new.id
    assert (found.name, found.state, found.definition) == ("V", "ready", {"sql": "new"})
    assert store.marks.mark("v").extent_snapshot == 77
    assert names(store.relations.dependencies_of("above")) == ["V"]
    assert names(store.relations.dependencies_of("v")) == ["u", "__next_part1"]
    assert store.relations.get("__next_part1").definition["part_of"] == "v"
    assert store.ticks.ticks_between(0, store.ticks.last_tick(), ["v"]) == (moment.tick,)
    store.relations.set_state("t", "dropping")  # nobody reads it any more


def test_what_was_replaced_waits(store: ControlStore, pair: tuple[Relation, Relation]) -> None:
    old, new = pair
    store.replacements.swap(old, new, {}, [store.relations.get("above")])
    (retired,) = store.replacements.retired()
    assert (retired.id, retired.state) == (old.id, "dropping")
    assert (retired.definition["sql"], retired.definition["place"]) == ("old", "V")
    part = store.relations.get("__v_part1")
    assert (part.definition["part_of"], part.state) == (retired.name, "dropping")
    assert store.replacements.retired(of="v") == (retired,) and not store.replacements.retired(of="above")
    hour = timedelta(hours=1)
    assert store.replacements.retired(before=datetime.now(UTC) + hour) == (retired,)
    assert not store.replacements.retired(before=datetime.now(UTC) - hour)


def test_another_definition_over_the_same_tables(store: ControlStore, pair: tuple[Relation, Relation]) -> None:
    old, _ = pair
    columns = [ColumnInfo("other", "int", True)]
    found = store.replacements.redefine(old, columns, ["other"], {"sql": "new"}, [store.relations.get("above")])
    assert found == store.relations.get("v") and found.id == old.id
    assert (found.columns, found.key, found.definition) == (tuple(columns), ("other",), {"sql": "new"})
    assert store.ticks.last_tick() == 0


@pytest.mark.parametrize("readers", [[], ["above", "t"]])
def test_a_reader_that_nobody_looked_at_stops_it(
    store: ControlStore, pair: tuple[Relation, Relation], readers: list[str]
) -> None:
    old, new = pair
    known = [store.relations.get(r) for r in readers]
    with pytest.raises(SourceError, match="RV-CONFLICT"):
        store.replacements.swap(old, new, {}, known)
    with pytest.raises(SourceError, match="RV-CONFLICT"):
        store.replacements.redefine(old, COLUMNS, None, {}, known)
    assert store.relations.get("v") == old and store.relations.get("__next") == new


def test_a_view_is_replaced_once(store: ControlStore, pair: tuple[Relation, Relation]) -> None:
    old, new = pair
    above = [store.relations.get("above")]
    store.replacements.swap(old, new, {}, above)
    other = make(store, "__other", "t")
    with pytest.raises(SourceError, match="RV-CONFLICT"):
        store.replacements.swap(old, other, {}, above)
    assert store.relations.get("v").id == new.id
