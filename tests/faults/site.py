"""A warehouse where accidents happen: tables of every kind, views of every kind, and a model of what must be there."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rollview
from rollview import Limits
from rollview.limits import USUAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rollview import Warehouse

VIEWS = {
    "totals": "SELECT name, SUM(x) AS x, COUNT(*) AS n FROM r JOIN s ON r.g = s.g GROUP BY name",
    "over": "SELECT n, COUNT(*) AS k, SUM(x) AS x FROM totals GROUP BY n",
    "joined": "SELECT r.id, r.x, s.name FROM r JOIN s ON r.g = s.g",
    "bag": "SELECT y FROM b UNION ALL SELECT x FROM r",
    "recomputed_names": "WITH k (i) AS (SELECT 1 UNION ALL "
    "SELECT IF((2 IN (SELECT CAST(NULL AS INT))) <=> TRUE, 3, 2)) "
    "SELECT name, i FROM r JOIN s ON r.g = s.g CROSS JOIN k",
    "followed": "SELECT k, SUM(v) AS v FROM theirs GROUP BY k",
}
BRANCH = Limits(few_bytes=0, rewrite_bytes=0)
"""small as everything here is, changes go the way of large extents"""
CATALOG = "their_files"
THEIRS = f"{CATALOG}.db.events"


@dataclass
class Site:
    path: Path
    turn: int = 0
    r: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    b: Counter[tuple[int]] = field(default_factory=Counter)

    def open(self, limits: Limits = USUAL, **options: Any) -> Warehouse:
        wh = rollview.open(self.path, limits=limits, **options)
        prefix = f"spark.sql.catalog.{CATALOG}"
        options = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hadoop", ".cache-enabled": "false"}
        for key, value in {**options, ".warehouse": str(self.path.parent / "theirs")}.items():
            wh.spark.conf.set(prefix + key, value)
        return wh

    def build(self) -> None:
        wh = self.open()
        wh.create_table("r", "id INT, g INT, x INT", key=["id"])
        wh.create_table("s", "g INT, name STRING", key=["g"])
        wh.create_table("b", "y INT")
        wh.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.db")
        wh.spark.sql(f"CREATE TABLE {THEIRS} (k INT, v INT)")
        self.they_write(wh)
        wh.attach("theirs", rollview.sources.IcebergTable(THEIRS))
        with wh.transaction() as tx:
            tx.insert("s", [(g, f"name {g % 2}") for g in range(3)])
        self.change(wh)
        for name, sql in VIEWS.items():
            wh.create_view(name, sql, policy="auto" if name == "recomputed_names" else "incremental")
        wh.close()

    def change(self, wh: Warehouse) -> None:
        """The next transaction on two tables; the model follows only when it is through."""
        turn, (r, _) = self.turn, self.after()
        with wh.transaction() as tx:
            tx.insert("r", [r[10 * turn + i] for i in range(3)])
            tx.delete("r", where=f"id = {10 * (turn - 1)}")
            tx.update("r", set={"x": "x + 100"}, where=f"id = {10 * (turn - 1) + 1}")
            tx.insert("b", [(turn,), (turn,), (7,)])
            tx.delete("b", where=f"y = {turn - 1}")
        self.move_on()

    def after(self) -> tuple[dict[int, tuple[int, int, int]], Counter[tuple[int]]]:
        """The model after the next transaction."""
        turn, r, b = self.turn, dict(self.r), Counter(self.b)
        r |= {10 * turn + i: (10 * turn + i, i % 3, turn + i) for i in range(3)}
        r.pop(10 * (turn - 1), None)
        old = 10 * (turn - 1) + 1
        if old in r:
            r[old] = (old, r[old][1], r[old][2] + 100)
        b.pop((turn - 1,), None)
        b.update([(turn,), (turn,), (7,)])
        return r, Counter({y: n for y, n in b.items() if y != (turn - 1,)})

    def move_on(self) -> None:
        self.r, self.b = self.after()
        self.turn += 1

    def they_write(self, wh: Warehouse) -> None:
        wh.spark.sql(f"INSERT INTO {THEIRS} VALUES ({self.turn % 3}, {self.turn}), (1, 1)")

    @contextmanager
    def lend(self, wh: Warehouse, columns: str) -> Iterator[str]:
        """Another table of theirs, attached as `lent` for a while."""
        table = f"{CATALOG}.db.lent"
        wh.spark.sql(f"CREATE TABLE {table} ({columns})")
        wh.spark.sql(f"INSERT INTO {table} (k, v) VALUES (0, 0)")
        wh.attach("lent", rollview.sources.IcebergTable(table))
        yield table
        wh.drop_table("lent")
        wh.spark.sql(f"DROP TABLE {table} PURGE")

    def intact(self, wh: Warehouse) -> bool:
        """The tables hold exactly what the model says."""
        found = ({row[0]: row for row in read(wh, "r")}, Counter(read(wh, "b")))
        return found == (self.r, self.b)


def read(wh: Warehouse, table: str) -> list[Any]:
    return [tuple(row) for row in wh.table(table).collect()]


def follow(wh: Warehouse, *views: str) -> None:
    """Refresh views and check them against their SQL."""
    wh.refresh(*views)
    for view in views:
        verification = wh.verify(view)
        assert verification.ok, verification
