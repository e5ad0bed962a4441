"""Other columns of a table: what can be asked, and what a view over it is then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.pure_typer import PureTyper

from rollview.algebra.relation import Relation, Scan
from rollview.algebra.schema import BaseTable, Column, ForeignKey, Tables
from rollview.algebra.walking import rebuilt
from rollview.errors import BadInput
from rollview.plan.alter import Alter, is_wider
from rollview.plan.compile import CompiledView, compile_view
from rollview.plan.redefine import stored_alike
from rollview.views import seen_by

T = BaseTable(
    "t",
    (Column("id", "int"), Column("a", "int"), Column("b", "string"), Column("price", "decimal(8,2)")),
    ("id",),
    (ForeignKey(("a",), "u", ("k",)),),
)
U = BaseTable("u", (Column("k", "int"), Column("name", "string")), ("k",))
TABLES = {"t": T, "u": U}
VIEWS = {
    "rows": "SELECT id, b, a + 1 AS more FROM t WHERE a > 0",
    "groups": "SELECT b, SUM(a) AS s, COUNT(*) AS n, MIN(price) AS least FROM t GROUP BY b",
    "joined": "SELECT t.id, name FROM t JOIN u ON t.a = u.k",
    "half": "SELECT id, (SELECT name FROM u WHERE u.k = t.a) AS name FROM t",
    "outer": "SELECT id, name FROM t LEFT JOIN u ON a = k",
    "twice": "SELECT x.id, y.b FROM t x JOIN t AS y ON x.a = y.id",
    "named": "WITH t AS (SELECT a AS c FROM default.t) SELECT c, COUNT(*) AS n FROM t GROUP BY c",
    "starred": "SELECT * FROM t",
    "first": "SELECT id, a FROM t ORDER BY a, id LIMIT 3",
}
ALTERS = {
    "added": Alter(add=(Column("note", "string"),)),
    "clash": Alter(add=(Column("name", "string"), Column("k", "int"))),
    "renamed": Alter(rename={"a": "amount", "b": "label"}),
    "renamed key": Alter(rename={"id": "number"}),
    "both": Alter(rename={"a": "amount"}, add=(Column("A2", "int"),)),
}


def means_the_same(before: CompiledView, after: CompiledView, alter: Alter) -> bool:
    """Is a view over the new columns what it was, a renamed column being the same column?"""

    def visit(node: Relation) -> Relation:
        if isinstance(node, Scan) and node.table == "t":
            return replace(node, columns=tuple((alter.rename.get(c, c), name) for c, name in node.columns))
        return rebuilt(node, visit)

    return stored_alike(replace(before, extent=replace(before.extent, rows=visit(before.extent.rows))), after)


def compiled_over(tables: Tables, sql: str) -> CompiledView:
    """Types come from elsewhere: from whoever knows the tables only as they are now."""
    return compile_view(sql, tables, PureTyper({n: replace(t, seen=None) for n, t in tables.items()}))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("how", ALTERS)
def test_a_view_through_the_columns_that_there_were_means_what_it_meant(view: str, how: str) -> None:
    alter = ALTERS[how].fitted(T)
    after = seen_by(alter.bases(TABLES, "t"), {"t": [(alter.now(c.name), c.name) for c in T.columns]})
    before, compiled = (compiled_over(t, VIEWS[view]) for t in (TABLES, after))
    assert means_the_same(before, compiled, alter)
    assert compiled.extent.visible_key == before.extent.visible_key
    assert (compiled.extent.columns, compiled.extent.layout) == (before.extent.columns, before.extent.layout)


def test_the_name_of_a_column_that_is_gone_is_not_given_to_another() -> None:
    """What is stored is found by names that are made when a view is compiled."""
    tables = {**TABLES, "u": replace(U, columns=(*U.columns, Column("b", "int")))}
    alter = Alter(drop=("b",))
    query = "SELECT u.b AS x, COUNT(*) AS n FROM t JOIN u ON k = a GROUP BY u.b"
    after = seen_by(alter.bases(tables, "t"), {"t": [(alter.now(c.name), c.name) for c in T.columns]})
    before, compiled, plain = (compiled_over(t, query) for t in (tables, after, alter.bases(tables, "t")))
    assert compiled.extent.columns == before.extent.columns != plain.extent.columns


def test_a_star_does_not_mean_the_same_over_more_columns() -> None:
    alter = ALTERS["added"]
    before, after = (compiled_over(t, VIEWS["starred"]) for t in (TABLES, alter.bases(TABLES, "t")))
    assert not means_the_same(before, after, alter)


def test_a_column_that_took_the_name_of_another_is_not_that_column() -> None:
    alter = Alter(rename={"a": "c"}, add=(Column("d", "int"),))
    before = compiled_over(TABLES, "SELECT a FROM t")
    after = compiled_over(alter.bases(TABLES, "t"), "SELECT d AS a FROM t")
    assert not means_the_same(before, after, alter)


def test_keys_and_what_refers_to_them_go_by_the_new_names() -> None:
    found = Alter(rename={"k": "key"}).fitted(U).bases(TABLES, "u")
    assert found["u"].key == ("key",) and found["t"].foreign_keys == (ForeignKey(("a",), "u", ("key",)),)
    found = Alter(rename={"a": "u_id"}).bases(TABLES, "t")
    assert found["t"].foreign_keys == (ForeignKey(("u_id",), "u", ("k",)),)


def test_names_mean_columns_whatever_their_case_and_the_table_keeps_its_spelling() -> None:
    alter = Alter(("B",), {"ID": "number"}, {"A": "bigint"}, (Column("note", "string"),)).fitted(T)
    assert alter == Alter(("b",), {"id": "number"}, {"a": "bigint"}, (Column("note", "string"),))
    assert [(c.name, c.type) for c in alter.applied(T.columns)] == [
        ("number", "int"),
        ("a", "bigint"),
        ("price", "decimal(8,2)"),
        ("note", "string"),
    ]
    assert Alter.of(alter.plain()) == alter


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"drop": ("nothing",)}, "RV-UNKNOWN-COLUMN"),
        ({"drop": ("id",)}, "RV-ALTER"),
        ({"drop": ("a",)}, "RV-ALTER"),
        ({"rename": {"b": "PRICE"}}, "RV-DUPLICATE-COLUMN"),
        ({"rename": {"b": "c"}, "drop": ("b",)}, "RV-DUPLICATE-COLUMN"),
        ({"rename": {"b": "c"}, "add": (Column("C", "int"),)}, "RV-DUPLICATE-COLUMN"),
        ({"rename": {"a": "b", "b": "a"}}, "RV-DUPLICATE-COLUMN"),
        ({"add": (Column("id", "int"),)}, "RV-DUPLICATE-COLUMN"),
        ({"add": (Column("n", "int", nullable=False),)}, "RV-ALTER"),
        ({"widen": {"b": "int"}}, "RV-ALTER"),
        ({"widen": {"price": "decimal(8,3)"}}, "RV-ALTER"),
    ],
)
def test_what_cannot_be_done(asked: dict[str, Any], code: str) -> None:
    with pytest.raises(BadInput) as error:
        Alter(**asked).fitted(T)
    assert error.value.code == code


def test_nothing_would_be_left() -> None:
    bag = BaseTable("bag", (Column("a", "int"),), None)
    with pytest.raises(BadInput, match="nothing would be left"):
        Alter(drop=("a",)).fitted(bag)


@pytest.mark.parametrize(
    ("old", "new", "wider"),
    [
        ("int", "bigint", True),
        ("bigint", "int", False),
        ("float", "double", True),
        ("int", "double", False),
        ("decimal(8,2)", "decimal(10,2)", True),
        ("decimal(8,2)", "decimal(8,2)", False),
        ("decimal(8,2)", "decimal(10,4)", False),
        ("string", "string", False),
    ],
)
def test_what_is_wider(old: str, new: str, wider: bool) -> None:
    assert is_wider(old, new) is wider
