"""Look-ups get the literals of the deltas that drive them, through outer, semi and anti joins and through counts."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from sqlglot import exp
from tests.law import Subject
from tests.plan.tpch import QUERIES
from tests.plan.tpch import TABLES as TPCH
from tests.rules.tables import by_name, table

from rollview.algebra.relation import Filter, Relation, Scan, State
from rollview.algebra.walking import walk
from rollview.plan.maintain import maintain
from rollview.plan.region import Region
from rollview.plan.restrict import restrict
from rollview.rules.dispatch import Shape

TABLES = by_name(
    table("customers", "id, name string", "id"),
    table("orders", "id, customer, total", "id"),
    table("notes", "customer, note string"),
)


@dataclass
class Literals:
    """A delta whose every column has the one value 7; every table is large."""

    asked: list[tuple[str, str]] = field(default_factory=list)

    def keys(self, name: str, state: State, column: str) -> Region | None:
        self.asked.append((name, column))
        return Region((exp.Literal.number(7),))

    def worth(self, name: str) -> bool:
        return True

    def helps(self, name: str, column: str, region: Region) -> bool:
        return True


def whole(node: Relation) -> set[tuple[str, State]]:
    """The states of base tables that are scanned without any literal."""
    limited = {id(n.source) for n in walk(node) if isinstance(n, Filter)}
    found = (n for n in walk(node) if isinstance(n, Scan) and n.at in (State.BEFORE, State.AFTER))
    return {(n.table, n.at) for n in found if id(n) not in limited}


@pytest.mark.parametrize("changed", ["customers", "orders"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT c.id, c.name, o.id AS oid FROM customers c LEFT JOIN orders o ON o.customer = c.id",
        "SELECT c.id, c.name, o.id AS oid FROM customers c FULL JOIN orders o ON o.customer = c.id",
        "SELECT c.id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.total > 5)",
        "SELECT c.id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)",
        "SELECT c.id FROM customers c WHERE c.id NOT IN (SELECT o.id FROM orders o)",
    ],
    ids=["left", "full", "exists", "not_exists", "not_in_keys"],
)
def test_no_large_table_is_read_whole(sql: str, changed: str) -> None:
    plan = maintain(Subject.of(sql, TABLES).view, {changed: Shape()}, TABLES)
    assert plan.change is not None
    assert whole(restrict(plan.change, Literals())) == set()


def test_only_the_groups_that_a_change_meets_are_computed() -> None:
    sql = (
        "SELECT c.id, q.n FROM customers c LEFT JOIN (SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer) q "
        "ON q.customer = c.id"
    )
    plan = maintain(Subject.of(sql, TABLES).view, {"customers": Shape()}, TABLES)
    assert plan.change is not None
    assert whole(restrict(plan.change, Literals())) == set()


def test_a_condition_without_equalities_reads_all() -> None:
    sql = "SELECT c.id, n.note FROM customers c LEFT JOIN notes n ON n.customer > c.id"
    plan = maintain(Subject.of(sql, TABLES).view, {"customers": Shape(deletes=False, updates=False)}, TABLES)
    assert plan.change is not None
    assert whole(restrict(plan.change, Literals())) == {("notes", State.AFTER)}


@pytest.mark.parametrize("number", QUERIES)
def test_tpch_orders_and_lines_are_looked_up_by_the_changed_ones(number: int) -> None:
    """Also where a group, an EXISTS or a null-safe comparison lies between the change and the look-up."""
    view = Subject.of(QUERIES[number], TPCH).view
    plan = maintain(view, {t: Shape() for t in ("orders", "lineitem") if t in view.reads}, TPCH)
    if plan.change is not None:
        read = whole(restrict(plan.change, Literals()))
        assert not [t for t, _ in read if t in ("orders", "lineitem")]
