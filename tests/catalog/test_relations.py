from __future__ import annotations

from collections.abc import Callable

import pytest

from rollview.catalog import ColumnInfo, ControlStore, Relation
from rollview.errors import BadInput

COLUMNS = (ColumnInfo("id", "bigint", False), ColumnInfo("price", "decimal(10,2)", True))


def make(store: ControlStore, name: str, *reads: str) -> Relation:
    return store.relations.create(name, "view" if reads else "table", COLUMNS, created_tick=3, reads=reads)


def test_round_trip(store: ControlStore) -> None:
    definition = {"sql": "SELECT '☃'", "policy": "auto", "foreign_keys": [["a", "b"]]}
    created = store.relations.create("Sales", "table", COLUMNS, key=["id"], definition=definition, created_tick=7)
    assert created == Relation(created.id, "Sales", "table", COLUMNS, ("id",), definition, 7, "creating")
    assert store.relations.get("sALES") == created
    assert store.relations.find("nothing") is None


def test_a_bag_has_no_key(store: ControlStore) -> None:
    assert make(store, "t").key is None
    assert store.relations.get("t").key is None


def test_names_are_unique_whatever_the_case(store: ControlStore) -> None:
    make(store, "Sales")
    with pytest.raises(BadInput) as caught:
        make(store, "SALES")
    assert caught.value.code == "RV-RELATION-EXISTS"


def test_unknown_relation(store: ControlStore) -> None:
    with pytest.raises(BadInput) as caught:
        store.relations.get("ghost")
    assert caught.value.code == "RV-RELATION-UNKNOWN"


def test_creation_killed_before_ready_is_found_by_its_state(store: ControlStore) -> None:
    make(store, "a")
    make(store, "b")
    store.relations.set_state("b", "ready")
    assert [each.name for each in store.relations.list(state="creating")] == ["a"]


def test_update_definition_replaces_it(store: ControlStore) -> None:
    make(store, "t")
    assert store.relations.update_definition("T", {"sql": "x"}).definition == {"sql": "x"}
    assert store.relations.get("t").definition == {"sql": "x"}


def test_listing_is_in_dependency_order(store: ControlStore) -> None:
    for name in ("late", "base"):
        make(store, name)
    make(store, "inner", "base")
    make(store, "outer", "inner", "BASE")
    store.relations.add_dependencies("late", ["outer"])
    assert [each.name for each in store.relations.list()] == ["base", "inner", "outer", "late"]
    assert [each.name for each in store.relations.list(kind="view")] == ["inner", "outer"]
    assert [each.name for each in store.relations.dependents_of("base")] == ["inner", "outer"]
    reached = store.relations.dependents_of("base", transitive=True)
    assert [each.name for each in reached] == ["inner", "outer", "late"]
    assert [each.name for each in store.relations.dependencies_of("outer")] == ["base", "inner"]


def test_adding_a_dependency_twice_is_harmless(store: ControlStore) -> None:
    make(store, "base")
    make(store, "v", "base", "BASE")
    store.relations.add_dependencies("v", ["base"])
    assert [each.name for each in store.relations.dependencies_of("v")] == ["base"]


@pytest.mark.parametrize("target", ["base", "outer"])
def test_cycles_are_refused(store: ControlStore, target: str) -> None:
    make(store, "base")
    make(store, "inner", "base")
    make(store, "outer", "inner")
    with pytest.raises(BadInput) as caught:
        store.relations.add_dependencies("base", [target])
    assert caught.value.code == "RV-VIEW-CYCLE"


def test_a_view_on_a_missing_table_leaves_nothing_behind(store: ControlStore) -> None:
    with pytest.raises(BadInput):
        make(store, "v", "ghost")
    assert store.relations.list() == ()


def test_what_is_read_cannot_be_dropped(store: ControlStore) -> None:
    make(store, "base")
    make(store, "v", "base")
    for attempt in (
        lambda: store.relations.set_state("base", "dropping"),
        lambda: store.relations.delete("base"),
    ):
        with pytest.raises(BadInput) as caught:
            attempt()
        assert caught.value.code == "RV-RELATION-IN-USE"
        assert "v" in caught.value.message


def test_what_is_being_dropped_cannot_be_read(store: ControlStore) -> None:
    make(store, "base")
    store.relations.set_state("base", "dropping")
    with pytest.raises(BadInput):
        make(store, "v", "base")


def test_a_name_can_be_used_again_and_gets_a_new_id(store: ControlStore) -> None:
    old = make(store, "t")
    store.marks.record_extent("t", 5, 99)
    store.relations.delete("t")
    new = make(store, "t")
    assert new.id > old.id
    assert store.marks.extent_snapshot("t", 10) is None


CHANGES: dict[str, Callable[[ControlStore], object]] = {
    "created": lambda s: make(s, "v", "t"),
    "ready": lambda s: s.relations.set_state("t", "ready"),
    "redefined": lambda s: s.relations.update_definition("t", {"sql": "SELECT 2"}),
    "columns": lambda s: s.relations.set_columns("t", COLUMNS[:1], {}),
    "altered": lambda s: s.relations.alter("t", COLUMNS[:1], {"foreign_keys": []}, {}, {}),
    "read": lambda s: s.relations.add_dependencies("u", ["t"]),
    "replaced": lambda s: s.replacements.redefine(s.relations.get("ready"), COLUMNS[:1], None, {}),
    "swapped": lambda s: s.replacements.swap(s.relations.get("ready"), s.relations.get("t"), {}),
    "deleted": lambda s: s.relations.delete("t"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_is_remembered_is_what_others_have_made_of_it(
    location: str, change: Callable[[ControlStore], object]
) -> None:
    with ControlStore(location) as mine, ControlStore(location) as other:
        for name in ("t", "u", "ready"):
            make(mine, name)
        mine.relations.set_state("ready", "ready")
        before = other.relations.list(), other.relations.dependents_of("t")
        change(mine)
        with ControlStore(location) as new:
            for store in (other, new):
                there = {r.name for r in store.relations.list()}
                readers = store.relations.dependents_of("t") if "t" in there else ()
                assert (store.relations.list(), readers) == (
                    mine.relations.list(),
                    mine.relations.dependents_of("t") if "t" in there else (),
                )
                assert (store.relations.list(), readers) != before


def test_a_change_that_fails_is_not_remembered(store: ControlStore) -> None:
    make(store, "t")
    before = store.relations.list()
    with pytest.raises(BadInput):
        make(store, "v", "nothing")
    assert store.relations.list() == before
