"""Outer joins that a selection above makes inner, and those that it does not."""

from __future__ import annotations

import pytest
from tests.law import Subject
from tests.rules.tables import BAGS

from rollview.algebra.relation import OuterJoin
from rollview.algebra.walking import walk

LEFT = "SELECT r.a, s.c FROM r LEFT JOIN s ON r.b = s.b"
FULL = "SELECT r.a, s.c FROM r FULL JOIN s ON r.b = s.b"


def kept(sql: str) -> list[tuple[bool, bool]]:
    definition = Subject.of(sql, BAGS).view.definition
    return [(n.keeps_left, n.keeps_right) for n in walk(definition) if isinstance(n, OuterJoin)]


@pytest.mark.parametrize("test", ["s.c > 1", "s.c + 1 = r.a", "s.b IS NOT NULL", "s.c IN (1, 2)", "NOT s.c = 1"])
def test_a_left_join_becomes_inner(test: str) -> None:
    assert kept(f"{LEFT} WHERE {test}") == []


@pytest.mark.parametrize(
    "test", ["s.c IS NULL", "s.c > 1 OR r.a = 1", "COALESCE(s.c, 0) = 0", "s.c <=> r.a", "r.a > 1"]
)
def test_a_left_join_stays(test: str) -> None:
    assert kept(f"{LEFT} WHERE {test}") == [(True, False)]


def test_a_full_join_keeps_what_can_be_seen() -> None:
    assert kept(f"{FULL} WHERE r.a > 1") == [(True, False)]
    assert kept(f"{FULL} WHERE s.c > 1") == [(False, True)]
    assert kept(f"{FULL} WHERE s.c > r.a") == []


def test_joins_and_groups_above_reject_nulls_too() -> None:
    assert kept(f"SELECT q.a, x.b FROM ({LEFT}) q JOIN r x ON q.c = x.a") == []
    assert kept(f"SELECT q.c, COUNT(*) AS n FROM ({LEFT}) q GROUP BY q.c HAVING q.c > 1") == []
    assert kept(f"SELECT q.c, COUNT(*) AS n FROM ({LEFT}) q GROUP BY q.c HAVING COUNT(*) > 1") == [(True, False)]
    assert kept(f"SELECT x.a FROM r x LEFT JOIN ({LEFT}) q ON q.c = x.a") == [(True, False)]
    assert kept(f"SELECT x.a, q.c FROM r x LEFT JOIN ({LEFT}) q ON q.a = x.a") == [(True, False), (True, False)]


def test_what_an_anti_join_seeks_is_not_padded() -> None:
    assert kept(f"SELECT x.a FROM r x WHERE NOT EXISTS (SELECT 1 FROM ({LEFT}) q WHERE q.c = x.a)") == []
