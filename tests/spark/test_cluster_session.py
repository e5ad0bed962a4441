"""The same session on a real cluster: tasks on two executors, the catalog in PostgreSQL."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, sys
from pathlib import Path
from rollview.lake.session import local_session
from tests.spark.cluster import EXECUTOR_PROPERTY, cluster_settings

warehouse, catalog, master = sys.argv[1:]
spark = local_session(Path(warehouse), catalog, driver_memory="1g", extra=cluster_settings(master))
spark.sql("CREATE NAMESPACE rollview.default")
spark.sql("CREATE TABLE rollview.default.t (k BIGINT, v BIGINT) TBLPROPERTIES ('format-version'='3', "
          "'write.merge.mode'='merge-on-read')")
spark.sql("INSERT INTO rollview.default.t SELECT id, 0 FROM range(0, 1000, 1, 4)")
spark.sql("MERGE INTO rollview.default.t t USING (SELECT id AS k, 1 AS v FROM range(990, 1010, 1, 2)) d "
          "ON t.k = d.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
total = spark.sql("SELECT count(*), sum(v) FROM rollview.default.t").first()
executor = f"java_method('java.lang.System', 'getProperty', '{EXECUTOR_PROPERTY}')"
executors = spark.sql(f"SELECT DISTINCT {executor} FROM range(0, 1000, 1, 8)").collect()
print(json.dumps({"total": list(total), "executors": sorted(row[0] for row in executors)}))
spark.stop()
"""


@pytest.mark.cluster
def test_a_cluster_of_two_executors_shares_the_catalog_in_postgresql(
    cluster_url: str, pg_url: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), pg_url, cluster_url],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=ROOT,
    )
    assert done.stderr == ""
    assert json.loads(done.stdout) == {"total": [1010, 20], "executors": ["0", "1"]}

    seen = SqlCatalog("rollview", uri=pg_url.replace("postgresql:", "postgresql+psycopg2:"), warehouse=str(tmp_path))
    assert seen.load_table("default.t").scan().to_arrow().num_rows == 1010
