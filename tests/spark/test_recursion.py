"""WITH RECURSIVE on Spark: views over trees that grow, lose branches, and are rebuilt."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.spark.shop import refresh, rows

import rollview

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse

TREE = (
    "WITH RECURSIVE tree (id, boss, lvl, path) AS (SELECT id, boss, 1, name FROM staff WHERE boss IS NULL "
    "UNION ALL SELECT s.id, s.boss, lvl + 1, concat(path, '/', s.name) FROM staff s JOIN tree ON s.boss = tree.id) "
)
VIEWS = {
    "tree": f"{TREE}SELECT * FROM tree",
    "deep": f"{TREE}SELECT id, path FROM tree WHERE lvl > 2",
    "levels": f"{TREE}SELECT lvl, COUNT(*) AS n, SUM(pay) AS pay FROM tree JOIN staff USING (id) GROUP BY lvl",
    "deepest": f"{TREE}SELECT id, lvl FROM tree ORDER BY lvl DESC, id LIMIT 3",
    "in_rome": (
        "WITH RECURSIVE t (id, n) AS (SELECT id, 1 FROM staff WHERE boss IS NULL UNION ALL SELECT s.id, n + 1 FROM t "
        "JOIN staff s ON s.boss = t.id WHERE EXISTS (SELECT 1 FROM places p WHERE p.id = s.id AND city = 'Rome')) "
        "SELECT id, n FROM t"
    ),
    "with_places": (
        "WITH RECURSIVE t (id, city) AS (SELECT id, 'none' FROM staff WHERE boss IS NULL UNION ALL SELECT s.id, p.city "
        "FROM t JOIN staff s ON s.boss = t.id LEFT JOIN places p ON p.id = s.id) SELECT id, city FROM t"
    ),
    "above_all": (
        "WITH RECURSIVE up (id, boss) AS (SELECT id, boss FROM staff UNION ALL "
        "SELECT up.id, s.boss FROM up JOIN staff s ON up.boss = s.id) "
        "SELECT boss, COUNT(*) AS n FROM up WHERE boss IS NOT NULL GROUP BY boss"
    ),
    "both_ways": (
        "WITH RECURSIVE t (id, n) AS (SELECT id, 1 FROM staff WHERE id = 5 UNION ALL ("
        "SELECT s.id, n + 1 FROM t JOIN staff s ON s.boss = t.id WHERE n < 3 "
        "UNION ALL SELECT s.boss, n + 1 FROM t JOIN staff s ON s.id = t.id WHERE n < 3)) SELECT id, n FROM t"
    ),
    "each_with_itself": (
        "WITH RECURSIVE t (id, n) AS (SELECT id, 1 FROM staff WHERE boss IS NULL UNION ALL SELECT s.id, a.n + 1 "
        "FROM t a JOIN t b ON a.id = b.id JOIN staff s ON s.boss = a.id WHERE a.n < 4) SELECT id, n FROM t"
    ),
}
BARE = (
    "WITH RECURSIVE t MAX RECURSION LEVEL 12 AS (SELECT id FROM staff WHERE boss IS NULL "
    "UNION ALL SELECT s.id FROM staff s JOIN t ON s.boss = t.id) SELECT id FROM t"
)


@pytest.fixture
def wh(spark: SparkSession, tmp_path: Path) -> Iterator[Warehouse]:
    rng = Random(3)
    with rollview.open(tmp_path / "warehouse") as warehouse:
        warehouse.create_table("staff", "id BIGINT, boss BIGINT, name STRING, pay INT", key=["id"])
        warehouse.create_table("places", "id BIGINT, city STRING", key=["id"])
        with warehouse.transaction() as tx:
            tx.insert("staff", [(i, rng.randrange(1, i) if i > 1 else None, f"n{i % 5}", i % 7) for i in range(1, 19)])
            tx.insert("places", [(i, "Rome" if i % 3 else "Oslo") for i in range(1, 19)])
        yield warehouse


def checked(wh: Warehouse, *views: str) -> None:
    for view in views:
        found = wh.verify(view)
        assert found.ok, f"{view}\nmissing {found.missing}\nextra {found.extra}"


def test_views_are_right_at_every_tick(wh: Warehouse) -> None:
    for name, text in VIEWS.items():
        wh.create_view(name, text, policy="strict")
    with wh.transaction() as tx:
        tx.insert("staff", [(100, 3, "new", 1), (101, 100, "new", 2)])
    grown = {r.view: r for r in wh.refresh()}
    assert grown["tree"].inserted == 2 and grown["tree"].deleted == 0
    checked(wh, *VIEWS)
    with wh.transaction() as tx:
        tx.update("staff", set={"boss": "1"}, where="id IN (9, 15)")
        tx.delete("staff", where="id = 12")
        tx.update("places", set={"city": "'Oslo'"}, where="id % 5 = 1")
    assert {r.strategy for r in wh.refresh()} == {"incremental"}
    checked(wh, *VIEWS)
    with wh.transaction() as tx:
        tx.delete("staff", where="boss IS NULL")
        tx.insert("places", [(100, "Rome")])
    wh.refresh()
    checked(wh, *VIEWS)
    assert rows(wh, "tree") == []


def test_what_is_stored_is_where_the_change_begins(wh: Warehouse) -> None:
    """The view that is the recursion reads its own rows; others read a part that is."""
    wh.create_view("tree", VIEWS["tree"], policy="strict")
    wh.create_view("levels", VIEWS["levels"], policy="strict")
    told = wh.explain("tree").as_dict()["strategies"][0]
    assert told["scans"] == ["staff AFTER", "staff DELTA", "tree BEFORE"]
    assert "WITH RECURSIVE" in told["sql"]
    assert "a part of 18 rows" in str(wh.explain("levels"))
    assert "RV-RECURSION-WHOLE" not in str(wh.explain("tree"))
    wh.create_view("each", VIEWS["each_with_itself"], policy="strict")
    assert "RV-RECURSION-WHOLE" in str(wh.explain("each"))


def test_ahead_of_its_rows(wh: Warehouse) -> None:
    wh.create_view("tree", VIEWS["tree"], policy="strict")
    before, ticks = rows(wh, "tree"), [wh.tick]
    for change in ("boss = 1", "boss = 4"):
        with wh.transaction() as tx:
            tx.update("staff", set={"name": "'moved'"}, where=change)
        wh.propagate("tree")
        ticks.append(wh.tick)
    assert rows(wh, "tree") == before
    ahead = [rows(wh, "tree", at=tick) for tick in ticks]
    assert ahead[0] == before and len({str(a) for a in ahead}) == 3
    for tick, found in zip(ticks, ahead, strict=True):
        wh.apply("tree", to=tick)
        assert rows(wh, "tree") == found
        checked(wh, "tree")
    wh.apply("tree", to=ticks[1])
    checked(wh, "tree")


def test_lost_rows_that_lead_into_a_cycle(wh: Warehouse) -> None:
    """The change has no end, though the view has; so the view is recomputed, and a strict one says why it is not."""
    wh.create_view("kept", BARE)
    wh.create_view("strict", BARE, policy="strict")
    with wh.transaction() as tx:
        tx.insert("staff", [(200, 1, "a", 0), (201, 200, "b", 0)])
    wh.refresh()
    with wh.transaction() as tx:
        tx.update("staff", set={"boss": "201"}, where="id = 200")
    report = refresh(wh, "kept")
    assert (report.strategy, report.reason) == ("recompute", "RV-UNDEFINED")
    checked(wh, "kept")
    with pytest.raises(rollview.RollviewError, match="RV-RECURSION-LIMIT"):
        wh.refresh("strict")
    with wh.transaction() as tx:
        tx.update("staff", set={"boss": "1"}, where="id = 200")
    assert refresh(wh, "kept").strategy == refresh(wh, "strict").strategy == "incremental"
    checked(wh, "kept", "strict")


def test_a_recursion_without_an_end(wh: Warehouse) -> None:
    endless = "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n FROM t) SELECT n FROM t"
    with pytest.raises(rollview.BadInput, match="RV-RECURSION-LIMIT"):
        wh.create_view("endless", endless)
    with wh.transaction() as tx:
        tx.insert("staff", [(1000 + i, 999 + i if i else 1, "chain", 0) for i in range(11)])
    wh.create_view("long", BARE, policy="strict")
    with wh.transaction() as tx:
        tx.insert("staff", [(1011, 1010, "last", 0)])
    with pytest.raises(rollview.BadInput, match="RV-RECURSION-LIMIT"):
        wh.refresh("long", policy="full")
    wh.create_view("longer", BARE.replace("LEVEL 12", "LEVEL 13"), policy="strict")
    assert len(rows(wh, "longer")) == len(rows(wh, "long")) + 1
