"""The commands on a real warehouse: their exit codes, and what they print for people and as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.spark.shop import NOT_YET
from typer.testing import CliRunner, Result

import rollview
from rollview.cli import app

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def folder(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One warehouse for the module; each test has tables and views of its own in it."""
    path = tmp_path_factory.mktemp("cli") / "warehouse"
    assert invoke("init", str(path)).exit_code == 0
    return path


@pytest.fixture(scope="module")
def wh(folder: Path) -> Iterator[rollview.Warehouse]:
    with rollview.open(folder) as warehouse:
        warehouse.create_table("sales", "id BIGINT, city STRING, price DECIMAL(10,2)", key=["id"])
        with warehouse.transaction() as tx:
            tx.insert("sales", [(1, "Rome", "1.50"), (2, "Oslo", "2.00"), (3, "Rome", None)])
        yield warehouse


@pytest.fixture
def run(wh: rollview.Warehouse, folder: Path) -> Run:
    return lambda *arguments, stdin=None: invoke(*arguments, "-w", str(folder), stdin=stdin)


def invoke(*arguments: str, stdin: str | None = None) -> Result:
    result = CliRunner().invoke(app, list(arguments), input=stdin)
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def read(result: Result, code: int = 0) -> Any:
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def insert(wh: rollview.Warehouse, *rows: tuple[Any, ...], table: str = "sales") -> int:
    with wh.transaction() as tx:
        tx.insert(table, list(rows))
    assert tx.tick is not None
    return tx.tick


def test_the_life_of_a_view(run: Run, wh: rollview.Warehouse) -> None:
    """create, stale, refresh, fresh, explain, history, verify, drop: all with code 0 but the gate."""
    created = read(
        run("create", "by_city", "-", "--json", stdin="SELECT city, SUM(price) AS total FROM sales GROUP BY city")
    )
    assert (created["view"], created["inserted"], created["upto"]) == ("by_city", 2, wh.tick)
    tick = insert(wh, (10, "Oslo", "5.00"))
    stale = read(run("status", "--gate", "--json"), code=3)
    assert "by_city" in stale["stale"]
    assert run("status", "--gate").exit_code == 3
    [report] = read(run("refresh", "by_city", "--json"))
    assert (report["strategy"], report["upto"], report["updated"]) == ("incremental", tick, 1)
    assert "by_city" not in read(run("status", "--json", "--gate", "--max-behind", "1000"))["stale"]
    explained = read(run("explain", "by_city", "--json"))
    assert [s["table"] for s in explained["strategies"]] == ["sales"]
    told = run("explain", "by_city").stdout
    assert "When sales changes" in told and "MERGE INTO" in told
    assert [r["strategy"] for r in read(run("history", "by_city", "--json"))] == ["incremental", "create"]
    [verified] = read(run("verify", "by_city", "--json"))
    assert verified["ok"] and verified["rows"] == 2 and verified["missing"] == verified["extra"] == []
    assert "Dropped by_city" in run("drop", "by_city").stdout
    assert read(run("explain", "by_city", "--json"), code=2)["error"]["code"] == "RV-UNKNOWN-RELATION"


def test_refresh_to_a_tick(run: Run, wh: rollview.Warehouse) -> None:
    run("create", "counted", "--sql", "SELECT COUNT(*) AS n FROM sales")
    first = insert(wh, (20, "Bern", "1.00"))
    insert(wh, (21, "Bern", "1.00"))
    [report] = read(run("refresh", "counted", "--to", str(first), "--json"))
    assert report["upto"] == first
    assert read(run("refresh", "counted", "--to", "100000", "--json"), code=2)["error"]["code"] == "RV-NO-TICK"
    [full] = read(run("refresh", "counted", "--policy", "full", "--json"))
    assert (full["strategy"], full["reason"]) == ("recompute", "RV-POLICY-FULL")
    assert "RV-POLICY-FULL" in run("history", "counted").stdout


def test_a_refresh_that_fails_is_1(run: Run, wh: rollview.Warehouse) -> None:
    wh.create_table("divisors", "id BIGINT, d INT", key=["id"])
    assert run("create", "quotients", "--sql", "SELECT id, 10 / d AS q FROM divisors").exit_code == 0
    insert(wh, (1, 0), table="divisors")
    error = read(run("refresh", "quotients", "--json"), code=1)["error"]
    assert error["code"] == "RV-DIVIDE-BY-ZERO"
    assert "RV-DIVIDE-BY-ZERO" in run("refresh", "quotients").stderr
    assert read(run("history", "quotients", "--json"))[0]["strategy"] == "failed"
    wh.drop_view("quotients")


def test_a_verification_that_fails_is_1_and_shows_the_rows(run: Run, wh: rollview.Warehouse) -> None:
    run("create", "cities", "--sql", "SELECT id, city FROM sales")
    tick = "spark.sql.iceberg.snapshot-property.rollview.tick"
    wh.spark.conf.set(tick, str(wh.tick))  # a wrong merge of ours, not a stranger's write
    wh.spark.sql("DELETE FROM rollview.__rollview.cities__extent WHERE id = 1")
    wh.spark.sql("UPDATE rollview.__rollview.cities__extent SET city = 'Nice' WHERE id = 2")
    wh.spark.conf.unset(tick)
    [found] = read(run("verify", "cities", "--json"), code=1)
    assert not found["ok"]
    assert (found["missing_rows"], found["extra_rows"]) == (2, 1)
    assert found["extra"] == [{"id": 2, "city": "Nice"}]
    told = run("verify", "cities")
    assert told.exit_code == 1
    assert "DIFFERS" in told.stdout and "Nice" in told.stdout
    wh.drop_view("cities")


def test_bad_sql_is_2_and_is_pointed_at(run: Run) -> None:
    text = "SELECT id,\n  rand() AS r FROM sales"
    error = read(run("create", "bad", "--json", "--sql", text), code=2)["error"]
    assert error["code"] == "RV-NONDETERMINISTIC"
    assert error["position"] == {"line": 2, "column": 3}
    told = run("create", "bad", "--sql", text).stderr
    assert "line 2:   rand() AS r FROM sales" in told
    assert run("sql", "SELECT nope FROM sales").exit_code == 2
    assert run("sql", "SELECT 1 / 0").exit_code == 2


def test_strict_refuses_with_4(run: Run, wh: rollview.Warehouse, tmp_path: Path) -> None:
    file = tmp_path / "view.sql"
    file.write_text(f"{NOT_YET} SELECT n, price FROM r CROSS JOIN sales")
    error = read(run("create", "top", "--file", str(file), "--policy", "strict", "--json"), code=4)["error"]
    assert error["code"] == "RV-SUBQUERY"
    kept = run("create", "top", "--file", str(file))
    assert kept.exit_code == 0 and "recomputed at every refresh" in kept.stderr
    run("create", "below", "--sql", "SELECT id, price FROM sales")
    run("create", "above", "--sql", "SELECT SUM(price) AS total FROM below", "--policy", "strict")
    insert(wh, (40, "Bonn", "1.00"))
    assert run("refresh", "below", "--policy", "full").exit_code == 0
    assert read(run("refresh", "above", "--json"), code=4)["error"]["code"] == "RV-UPSTREAM-RECOMPUTED"
    for name in ("above", "below", "top"):
        wh.drop_view(name)


def test_sql(run: Run) -> None:
    found = read(run("sql", "SELECT id, price, price AS price FROM sales ORDER BY id", "--limit", "2", "--json"))
    assert [c["name"] for c in found["columns"]] == ["id", "price", "price_2"]
    assert found["rows"] == [
        {"id": 1, "price": "1.50", "price_2": "1.50"},
        {"id": 2, "price": "2.00", "price_2": "2.00"},
    ]
    assert found["truncated"] is True
    told = run("sql", "-", "-n", "1", stdin="SELECT id, price FROM sales WHERE id = 3 OR id = 1 ORDER BY id DESC")
    assert told.stdout.splitlines()[-1].split() == ["3", "NULL"]
    assert "first 1 rows" in told.stderr
    assert read(run("sql", "SELECT 1 AS a WHERE false", "--json"))["rows"] == []


def test_sql_shows_every_type(run: Run) -> None:
    query = (
        "SELECT double('NaN') AS n, map(1, named_struct('a', array(1, 2))) AS m, x'00ff' AS x, interval 3 days AS i, "
        "timestamp'2026-01-31 18:00:00' AS t, '\x1b[31mred' AS s"
    )
    assert read(run("sql", query, "--json"))["rows"] == [
        {
            "n": "nan",
            "m": {"1": {"a": [1, 2]}},
            "x": "AP8=",
            "i": "3 days, 0:00:00",
            "t": "2026-01-31T18:00:00",
            "s": "\x1b[31mred",
        }
    ]
    shown = run("sql", query).stdout
    assert "\x1b" not in shown and '{"1": {"a": [1, 2]}}' in shown


def test_sql_about_materialized_views(run: Run) -> None:
    assert read(run("sql", "CREATE MATERIALIZED VIEW mv AS SELECT city FROM sales", "--json"))["view"] == "mv"
    assert "mv" in run("sql", "SHOW MATERIALIZED VIEWS").stdout
    assert "View mv" in run("sql", "EXPLAIN MATERIALIZED VIEW mv").stdout
    assert read(run("sql", "REFRESH MATERIALIZED VIEW mv", "--json"))["strategy"] == "none"
    assert read(run("sql", "DROP MATERIALIZED VIEW mv", "--json")) == {"ok": True}


def test_init_leaves_a_warehouse_as_it_is(folder: Path, wh: rollview.Warehouse) -> None:
    found = read(invoke("init", "-w", str(folder), "--json"))
    assert found == {"warehouse": str(folder), "created": False, "tick": wh.tick}


def test_doctor(run: Run) -> None:
    found = read(run("doctor", "--json"))
    assert found["ok"]
    assert [c["check"] for c in found["checks"]][-3:] == ["Spark", "write and read", "pyiceberg"]
    sick = invoke("doctor", "--catalog", "postgresql://me:secret@127.0.0.1:1/db")
    assert sick.exit_code == 2
    assert "FAIL" in sick.stdout and "Is the server running" in sick.stderr
    assert "secret" not in sick.output


def test_a_catalog_on_postgresql(spark: Any, pg_url: str, tmp_path: Path) -> None:
    place = ["-w", str(tmp_path / "shared")]
    assert read(invoke("init", *place, "--catalog", pg_url, "--json"))["created"]
    assert read(invoke("sql", "SELECT 1 AS a", *place, "--catalog", pg_url, "--json"))["rows"] == [{"a": 1}]
    assert read(invoke("status", *place, "--catalog", pg_url, "--json"))["tick"] == 0
    error = read(invoke("status", *place, "--json"), code=2)["error"]
    assert error["code"] == "RV-NO-WAREHOUSE" and "--catalog" in error["hint"]


def test_a_process_of_its_own_prints_nothing_but_data(folder: Path, wh: rollview.Warehouse) -> None:
    """No Spark, Java or Python chatter on either stream, whether it works or not."""
    done = process("sql", "SELECT COUNT(*) AS n FROM sales", "--json", "-w", str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["rows"][0]["n"] >= 3
    failed = process("sql", "SELECT 1 / (id - id) FROM sales", "--json", "-w", str(folder))
    assert (failed.returncode, failed.stderr) == (2, "")
    assert json.loads(failed.stdout)["error"]["code"] == "RV-DIVIDE-BY-ZERO"


def process(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rollview.cli", *arguments],
        env={**os.environ, "ROLLVIEW_DRIVER_MEMORY": "1g"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
