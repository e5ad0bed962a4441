"""Δ(R₁ ⋈ … ⋈ Rₙ) = ⊎ᵢ R₁' ⋈ … ⋈ Rᵢ₋₁' ⋈ ΔRᵢ ⋈ Rᵢ₊₁ ⋈ … ⋈ Rₙ."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from random import Random

import pytest
from tests.law import check_delta, check_history
from tests.rules.tables import BAGS, R, S, by_name, scalar, scan, table
from tests.steps import Step, rows

from rollview.algebra.relation import Filter, Join, Relation, Scan, State
from rollview.algebra.scalar import conjuncts
from rollview.algebra.walking import children, scans, walk
from rollview.rules.dispatch import delta

BEFORE = rows(r=[(1, 1), (2, 1), (2, 1), (3, None), (4, 2)], s=[(1, 7), (1, 7), (None, 8), (3, 9)])
AFTER = rows(r=[(1, 1), (2, 1), (3, None), (5, 3)], s=[(1, 7), (2, 6), (None, 8), (3, None)])
JOIN = Join(scan(R), scan(S), scalar("r_b = s_b"))


def test_both_sides_change_at_once() -> None:
    """Rows that meet only new rows, old rows that met old rows, and duplicates on both sides."""
    check_delta(JOIN, Step(BAGS, BEFORE, AFTER))


def test_null_joins_nothing() -> None:
    """(3, NULL) and (NULL, 8) stay partnerless whatever arrives."""
    before, after = rows(r=[(1, None)], s=[]), rows(r=[(1, None), (2, None)], s=[(None, 1)])
    change = check_delta(JOIN, Step(BAGS, before, after))
    assert not change.is_empty


@pytest.mark.parametrize("moved", ["r", "s"])
def test_an_unchanged_side_is_read_only_once(moved: str) -> None:
    change = check_delta(JOIN, Step(BAGS, BEFORE, {**BEFORE, moved: AFTER[moved]}))
    other = "s" if moved == "r" else "r"
    assert {(s.table, s.at) for s in scans(change.relation)} == {(moved, State.DELTA), (other, State.AFTER)}


def test_two_changed_sides_read_before_and_after() -> None:
    change = check_delta(JOIN, Step(BAGS, BEFORE, AFTER))
    assert {(s.table, s.at) for s in scans(change.relation)} == {
        ("r", State.DELTA),
        ("s", State.BEFORE),
        ("s", State.DELTA),
        ("r", State.AFTER),
    }


def test_the_last_partners_of_each_other_go_together() -> None:
    check_delta(JOIN, Step(BAGS, rows(r=[(1, 1)], s=[(1, 1)]), rows(r=[], s=[])))


@pytest.mark.parametrize(
    "predicate",
    ["r_b < s_b", "r_b <=> s_b", "r_b + 1 = s_b", "r_b = s_b AND r_a > s_c", "r_b = s_b OR r_a = 1", "r_a = 1", "TRUE"],
)
def test_theta_joins(predicate: str) -> None:
    check_delta(Join(scan(R), scan(S), scalar(predicate)), Step(BAGS, BEFORE, AFTER))
    check_delta(Filter(Join(scan(R), scan(S)), scalar(predicate)), Step(BAGS, BEFORE, AFTER))


def test_cross_product() -> None:
    check_delta(Join(scan(R), scan(S)), Step(BAGS, BEFORE, AFTER))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x.a AS p, y.a AS q FROM r x JOIN r y ON x.a = y.b",
        "SELECT x.a AS p, y.a AS q, z.a AS o FROM r x, r y, r z WHERE x.b = y.b AND y.a = z.a",
        "SELECT x.a, y.b FROM r x CROSS JOIN r y",
        "WITH w AS (SELECT a, b FROM r WHERE a > 1) SELECT p.a, q.b FROM w p JOIN w q ON p.b = q.b",
    ],
)
def test_self_joins(sql: str) -> None:
    """One change, two occurrences: ΔR ⋈ R, R' ⋈ ΔR, and with both the rows that changed twice."""
    check_history(sql, BAGS, [BEFORE, AFTER, rows(r=[], s=[]), BEFORE])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT r.a, s.c FROM (r JOIN s ON r.b = s.b)",
        "SELECT x.a, s.c, y.a AS a2 FROM r x JOIN (s JOIN r y ON s.c = y.a) ON x.b = s.b",
        "SELECT x.a, s.c, y.a AS a2 FROM r x JOIN s JOIN r y ON s.c = y.a ON x.b = s.b",
        "SELECT a, b, c FROM r JOIN s USING (b)",
        "SELECT * FROM s JOIN r USING (b)",
        "SELECT a, c FROM (SELECT a, b + 1 AS k FROM r) u JOIN (SELECT b AS k, c FROM s WHERE c > 6) v ON u.k = v.k",
    ],
)
def test_forms_of_join(sql: str) -> None:
    check_history(sql, BAGS, [BEFORE, AFTER, rows(r=[], s=[]), BEFORE])


VALUES = (1, 2, 3, None)
LINKS = {
    "chain": ("a_y = b_x", "b_y = c_x", "c_y = d_x"),
    "ring": ("a_y = b_x", "b_y = c_x", "c_y = d_x", "d_y = a_x"),
    "pairs": ("a_y = b_x", "c_y = d_x"),
}


def looked_up(node: Relation) -> list[str]:
    """The tables that are read, as often as they are."""
    return [node.table] if isinstance(node, Scan) else [t for child in children(node) for t in looked_up(child)]


@pytest.mark.parametrize("moving", ["ab", "ac", "cd", "abc", "abd", "bcd"])
@pytest.mark.parametrize("shape", LINKS)
def test_inputs_that_stay_are_looked_up_once_for_all_that_move(shape: str, moving: str) -> None:
    tables = by_name(*(table(t, "x, y") for t in "abcd"))
    node = reduce(Join, (scan(tables[t]) for t in "abcd"))
    node = Filter(node, scalar(" AND ".join([*LINKS[shape], "b_x + d_y < 6"])))
    rng = Random(moving)

    def some() -> list[tuple[object, ...]]:
        return [(rng.choice(VALUES), rng.choice(VALUES)) for _ in range(6)]

    for _ in range(10):
        before = rows(**{t: some() for t in "abcd"})
        change = check_delta(node, Step(tables, before, {**before, **rows(**{t: some() for t in moving})}))
    apart = {"chain": ("ac", "abd"), "ring": ("ac",), "pairs": ("ac", "abc", "abd", "bcd")}[shape]
    still = Counter(t for t in looked_up(change.relation) if t not in moving)
    assert (set(still.values()) == {1}) == (moving not in apart), still


@pytest.mark.parametrize(("type_", "bridged"), [("int", True), ("string", False)])
def test_what_equals_the_same_column_of_an_unchanged_table_is_tied(type_: str, bridged: bool) -> None:
    """r.a = t.k and t.k = s.c: changed rows of r look s up by r.a = s.c, and t afterwards, if all are of one type."""
    t = table("t", f"k {type_}, x")
    tables = {**BAGS, "t": t}
    joined = Join(Join(scan(R), scan(S), scalar("r_b = s_b OR r_b < 2")), scan(t), scalar("r_a = t_k AND s_c = t_k"))
    standing = rows(t=[("7" if type_ == "string" else 7, 1), (None, 2)])
    before = {**rows(r=[(7, 1), (8, 2)], s=[(1, 7), (1, 8), (None, 7)]), **standing}
    after = {**rows(r=[(7, 1), (7, 2)], s=[(2, 7), (1, 8)]), **standing}
    change = check_delta(joined, Step(tables, before, after)) if bridged else None
    change = change or delta(joined, Step(tables, before, after).shapes, tables)
    found = (part.equated for j in walk(change.relation) if isinstance(j, Join) for part in conjuncts(j.predicate))
    assert (("r_a", "s_c") in found) is bridged
