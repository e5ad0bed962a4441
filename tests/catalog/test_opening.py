from __future__ import annotations

import logging
import subprocess
import sys
import time
import traceback
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

import rollview.catalog.migrate as migrate_module
from rollview.catalog import ControlStore
from rollview.catalog.migrate import version_of
from rollview.catalog.schema import VERSION_TABLE, VERSIONS, metadata
from rollview.errors import BadInput, SourceError


def test_an_empty_database_gets_all_tables_in_silence(
    location: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with ControlStore(location) as store, store._database.read() as connection:
        assert version_of(connection) == VERSIONS[-1]
        assert set(inspect(connection).get_table_names()) == {*metadata.tables, VERSION_TABLE}
    assert [each for each in caplog.records if each.name.startswith("alembic")] == []
    assert capsys.readouterr() == ("", "")


def test_the_migrations_make_the_schema_that_the_code_uses(store: ControlStore) -> None:
    with store._database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "version_table": VERSION_TABLE})
        assert compare_metadata(context, metadata) == []


def test_the_listed_versions_are_the_migrations() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrate_module.__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    revisions = ScriptDirectory.from_config(config).walk_revisions()
    assert tuple(each.revision for each in revisions)[::-1] == VERSIONS


def test_a_migrated_database_is_opened_without_alembic(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ControlStore(location) as store:
        store.relations.create("t", "table", [], created_tick=0)

    def never(_connection: object) -> None:
        raise AssertionError("alembic ran")

    monkeypatch.setattr(migrate_module, "_upgrade", never)
    best = min(_seconds_to_open(location) for _ in range(5))
    assert best < 0.03
    with ControlStore(location) as again:
        assert again.relations.get("t").name == "t"


def _seconds_to_open(location: str) -> float:
    """In processor time: what else the machine does is not our cost."""
    start = time.process_time()
    ControlStore(location).close()
    return time.process_time() - start


def test_a_newer_database_is_refused(location: str) -> None:
    with ControlStore(location) as store, store._database.write() as connection:
        connection.execute(text("UPDATE rollview_version SET version_num = '9999'"))
    with pytest.raises(BadInput) as caught:
        ControlStore(location)
    assert caught.value.code == "RV-CATALOG-NEWER"


def test_other_tables_of_the_same_database_are_left_alone(location: str) -> None:
    with ControlStore(location) as store, store._database.write() as connection:
        connection.execute(text("CREATE TABLE iceberg_tables (x INTEGER)"))
        connection.execute(text("DROP TABLE rollview_version"))
        for table in reversed(metadata.sorted_tables):
            table.drop(connection)
    with ControlStore(location) as store, store._database.read() as connection:
        assert inspect(connection).has_table("iceberg_tables")


def test_processes_that_open_an_empty_database_at_once(location: str) -> None:
    script = "import sys; from rollview.catalog import ControlStore; ControlStore(sys.argv[1]).close()"
    openers = [subprocess.Popen([sys.executable, "-c", script, location]) for _ in range(4)]
    assert [each.wait(60) for each in openers] == [0, 0, 0, 0]


def test_sqlite_is_set_up_for_several_processes(tmp_path: Path) -> None:
    with ControlStore(tmp_path / "catalog.db") as store, store._database.read() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "foreign_keys")
        }
        timeout = connection.exec_driver_sql("PRAGMA busy_timeout").scalar()
    assert pragmas == {"journal_mode": "wal", "foreign_keys": 1}
    assert isinstance(timeout, int)
    assert timeout > 0


def test_a_corrupt_file(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    path.write_bytes(b"this is no database, whatever its name may say" * 100)
    with pytest.raises(SourceError) as caught:
        ControlStore(path)
    assert (caught.value.code, caught.value.retryable) == ("RV-CATALOG-OPEN", False)
    assert caught.value.hint


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        ControlStore(tmp_path / "nowhere" / "catalog.db")
    assert caught.value.code == "RV-CATALOG-OPEN"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:s3cret@127.0.0.1:1/warehouse",
        "postgresql://ada@127.0.0.1:1/warehouse?password=s3cret",
        "postgresql+psycopg2://ada:s3cret@127.0.0.1:1/warehouse?sslpassword=s3cret",
    ],
)
def test_an_unreachable_server_and_no_password_in_the_error(url: str) -> None:
    with pytest.raises(SourceError) as caught:
        ControlStore(url)
    assert (caught.value.code, caught.value.retryable) == ("RV-CATALOG-OPEN", True)
    assert "127.0.0.1" in str(caught.value)
    assert "s3cret" not in "".join(traceback.format_exception(caught.value)) + repr(caught.value)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://u:s3cret@h/d", "://s3cret"])
def test_urls_that_cannot_hold_the_tables(url: str) -> None:
    with pytest.raises(BadInput) as caught:
        ControlStore(url)
    assert caught.value.code == "RV-CATALOG-URL"
    assert "s3cret" not in str(caught.value)


def test_the_repr_says_where(store: ControlStore) -> None:
    assert store.url in repr(store)
