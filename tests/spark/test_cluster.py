"""The whole cycle on a real cluster: tables, attached tables and views, by one driver after the other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SESSION = """
import json, sys
from pathlib import Path
import rollview
from rollview.lake.session import local_session
from tests.spark.cluster import EXECUTOR_PROPERTY, cluster_settings

folder, catalog, master = sys.argv[1:]
theirs = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hadoop", ".warehouse": folder + "/theirs"}
settings = {f"spark.sql.catalog.theirs{key}": value for key, value in {**theirs, ".cache-enabled": "false"}.items()}
path = Path(folder) / "warehouse"
spark = local_session(path, catalog, driver_memory="1g", extra={**cluster_settings(master), **settings})
wh = rollview.open(path, spark=spark, catalog=catalog)
VIEWS = ("by_city", "listed")

def refreshed():
    return [report.strategy for report in wh.refresh(*VIEWS)]

def right():
    return [wh.verify(view).ok for view in VIEWS]

def rows(name):
    return sorted([str(value) for value in row] for row in wh.table(name).collect())
"""
FIRST = """
spark.sql("CREATE NAMESPACE theirs.db")
spark.sql("CREATE TABLE theirs.db.sales (id INT, store INT, price DECIMAL(8,2)) "
          "TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
spark.sql("INSERT INTO theirs.db.sales SELECT id, id % 3, id FROM range(0, 30, 1, 4)")
wh.create_table("stores", "store INT, city STRING", key=["store"])
with wh.transaction() as tx:
    tx.insert("stores", [(0, "Oslo"), (1, "Rome"), (2, "Oslo")])
wh.attach("sales", rollview.sources.IcebergTable("theirs.db.sales"), key=["id"])
join = "FROM sales JOIN stores ON sales.store = stores.store"
wh.create_view("by_city", f"SELECT city, SUM(price) AS s, COUNT(*) AS n {join} GROUP BY city", policy="strict")
wh.create_view("listed", f"SELECT id, city, price {join}", policy="strict")
done = [refreshed()]
with wh.transaction() as tx:
    tx.update("stores", set={"city": "'Bergen'"}, where="store = 2")
done.append(refreshed())
spark.sql("INSERT INTO theirs.db.sales SELECT 100 + id, 1, 1 FROM range(0, 5000, 1, 4)")
spark.sql("DELETE FROM theirs.db.sales WHERE id < 3")
done.append(refreshed())
executor = f"java_method('java.lang.System', 'getProperty', '{EXECUTOR_PROPERTY}')"
executors = spark.sql(f"SELECT DISTINCT {executor} FROM range(0, 1000, 1, 8)").collect()
found = sorted(row[0] for row in executors)
print(json.dumps({"done": done, "right": right(), "by_city": rows("by_city"), "executors": found}))
"""
SECOND = """
found = rows("by_city")
done = [refreshed()]
with wh.transaction() as tx:
    tx.delete("stores", where="store = 1")
    tx.insert("stores", [(3, "Rome")])
spark.sql("UPDATE theirs.db.sales SET store = 3 WHERE id = 4")
done.append(refreshed())
shown = {name: rows(name) for name in VIEWS}
print(json.dumps({"found": found, "done": done, "right": right(), **shown}))
"""


def drive(program: str, *arguments: str) -> Any:
    """One driver process from its start to its end."""
    done = subprocess.run(
        [sys.executable, "-c", f"{SESSION}{program}\nwh.close()\nspark.stop()\n", *arguments],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        cwd=ROOT,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.cluster
def test_two_drivers_after_each_other_maintain_views_on_a_cluster(
    cluster_url: str, pg_url: str, tmp_path: Path
) -> None:
    first = drive(FIRST, str(tmp_path), pg_url, cluster_url)
    assert first == {
        "done": [["none", "none"], ["incremental", "incremental"], ["incremental", "incremental"]],
        "right": [True, True],
        "by_city": [["Bergen", "153.00", "9"], ["Oslo", "135.00", "9"], ["Rome", "5144.00", "5009"]],
        "executors": ["0", "1"],
    }
    second = drive(SECOND, str(tmp_path), pg_url, cluster_url)
    assert len(second.pop("listed")) == 19
    assert second == {
        "found": first["by_city"],
        "done": [["none", "none"], ["incremental", "incremental"]],
        "right": [True, True],
        "by_city": [["Bergen", "153.00", "9"], ["Oslo", "135.00", "9"], ["Rome", "4.00", "1"]],
    }
