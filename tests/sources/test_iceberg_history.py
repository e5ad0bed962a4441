"""What main went through: rollbacks, branches, expired snapshots, replaced tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rollview.capture.iceberg import EMPTY
from rollview.errors import SourceError

if TYPE_CHECKING:
    from tests.sources.conftest import Follower, Their

FILL = "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, concat('v', id) FROM range(20)"
BOTH_CATALOGS = pytest.mark.parametrize("their", ["their_folder", "their_database"], indirect=True)


@pytest.fixture
def table(their: Their, version: int) -> Follower:
    """20 rows, captured, then two deletes, captured."""
    table = their.create("k BIGINT, v STRING", version=version).follow()
    their.sql(FILL)
    table.catch_up()
    table.one("DELETE FROM {t} WHERE k = 1")
    table.one("DELETE FROM {t} WHERE k = 2")
    return table


def snapshots(their: Their) -> list[int]:
    rows = their.sql("SELECT snapshot_id FROM {t}.history ORDER BY made_current_at").collect()
    return [row[0] for row in rows]


def expire(their: Their, ids: list[int]) -> None:
    their.call("expire_snapshots", f"snapshot_ids => array({', '.join(map(str, ids))})")


@BOTH_CATALOGS
def test_rollback_is_a_commit(table: Follower) -> None:
    their = table.their
    first = snapshots(their)[0]
    their.call("rollback_to_snapshot", str(first))
    (commit,) = table.catch_up()
    assert (commit.snapshot_id, commit.inserted, commit.deleted) == (first, 2, 0)
    table.one("INSERT INTO {t} VALUES (100, 'after')")


def test_rollback_then_commits_before_we_look(table: Follower) -> None:
    their = table.their
    their.call("rollback_to_snapshot", str(snapshots(their)[0]))
    their.sql("DELETE FROM {t} WHERE k = 3", "INSERT INTO {t} VALUES (100, 'after')")
    commits = table.catch_up()
    assert [(c.inserted, c.deleted) for c in commits] == [(2, 0), (0, 1), (1, 0)]
    assert [c.committed_at for c in commits] == sorted(c.committed_at for c in commits)


def test_back_and_forth_before_we_look(table: Follower) -> None:
    their = table.their
    ids = snapshots(their)
    their.call("rollback_to_snapshot", str(ids[0]))
    their.call("set_current_snapshot", str(ids[-1]))
    assert table.catch_up() == []
    their.call("set_current_snapshot", str(ids[0]))
    their.call("set_current_snapshot", str(ids[1]))
    assert [(c.inserted, c.deleted) for c in table.catch_up()] == [(2, 0), (0, 1)]


def test_other_branches_are_ignored_until_published(table: Follower) -> None:
    their = table.their
    their.sql(
        "ALTER TABLE {t} CREATE BRANCH audit",
        "INSERT INTO {t}.branch_audit VALUES (100, 'a')",
        "DELETE FROM {t}.branch_audit WHERE k = 100",
        "INSERT INTO {t}.branch_audit VALUES (101, 'b')",
    )
    assert table.catch_up() == []
    their.call("fast_forward", "'main', 'audit'")
    (commit,) = table.catch_up()  # nobody saw the states between
    assert (commit.inserted, commit.deleted) == (1, 0)


def test_staged_commits_count_when_picked(table: Follower) -> None:
    their = table.their
    their.sql("ALTER TABLE {t} SET TBLPROPERTIES ('write.wap.enabled'='true')")
    their.spark.conf.set("spark.wap.id", "one")
    try:
        their.sql("INSERT INTO {t} VALUES (100, 'staged')")
    finally:
        their.spark.conf.unset("spark.wap.id")
    assert table.catch_up() == []
    table.one("INSERT INTO {t} VALUES (200, 'direct')")
    staged = their.value("SELECT snapshot_id FROM {t}.snapshots WHERE summary['wap.id'] = 'one'")
    their.call("cherrypick_snapshot", str(staged))
    (commit,) = table.catch_up()
    assert (commit.inserted, commit.deleted) == (1, 0)


def test_expired_last_snapshot_is_an_error(table: Follower) -> None:
    their = table.their
    their.sql("DELETE FROM {t} WHERE k = 3", "INSERT INTO {t} VALUES (100, 'x')")
    expire(their, snapshots(their)[:-1])
    with pytest.raises(SourceError, match="expired") as caught:
        table.catch_up()
    assert caught.value.code == "RV-SNAPSHOT-EXPIRED"
    assert not caught.value.retryable
    assert "full" in (caught.value.hint or "")


def test_expired_but_only_appended_since(table: Follower) -> None:
    their = table.their
    their.sql("INSERT INTO {t} VALUES (100, 'x'), (100, 'x')")
    expire(their, snapshots(their)[:-1])
    their.sql("DELETE FROM {t} WHERE k = 100")
    assert [(c.inserted, c.deleted) for c in table.catch_up()] == [(2, 0), (0, 2)]


def test_expired_between_is_one_larger_step(table: Follower) -> None:
    their = table.their
    their.sql(*(f"DELETE FROM {{t}} WHERE k = {k}" for k in (3, 4, 5)))
    expire(their, snapshots(their)[-3:-1])
    (commit,) = table.catch_up()
    assert (commit.inserted, commit.deleted) == (0, 3)


def test_expired_but_tagged_start(table: Follower) -> None:
    """The log forgets what is before an expired snapshot; the tagged one can still be compared."""
    their = table.their
    their.sql("ALTER TABLE {t} CREATE TAG captured", "DELETE FROM {t} WHERE k > 2", FILL)
    their.call("expire_snapshots", "older_than => TIMESTAMP '2100-01-01', retain_last => 1")
    (commit,) = table.catch_up()
    assert (commit.inserted, commit.deleted) == (3, 0)  # what went came back, and once more what was gone


def test_replaced_table(table: Follower) -> None:
    their = table.their
    their.sql("CREATE OR REPLACE TABLE {t} USING iceberg AS SELECT id AS k, 'new' AS v FROM range(3)")
    (commit,) = table.catch_up()
    assert (commit.inserted, commit.deleted) == (3, 18)


def test_replaced_by_an_empty_table(table: Follower) -> None:
    their = table.their
    their.sql("CREATE OR REPLACE TABLE {t} (k BIGINT, v STRING) USING iceberg")
    (commit,) = table.catch_up(check=False)
    assert (commit.snapshot_id, commit.inserted, commit.deleted) == (EMPTY, 0, 18)
    assert table.catch_up() == []
    their.sql("INSERT INTO {t} VALUES (1, 'a')", "INSERT INTO {t} VALUES (2, 'b')")
    assert [c.inserted for c in table.catch_up()] == [1, 1]


def test_dropped_and_created_again_is_an_error(table: Follower) -> None:
    their = table.their
    their.sql("DROP TABLE {t} PURGE")
    their.create("k BIGINT, v STRING").sql(FILL)
    with pytest.raises(SourceError) as caught:
        table.catch_up()
    assert caught.value.code == "RV-SNAPSHOT-EXPIRED"
