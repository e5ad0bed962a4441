"""Random histories: every commit, in small steps and in one big one, carries the captured bag to what Spark reads."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.sources.conftest import Their

STEPS = 30


def insert(rng: random.Random) -> str:
    n, start = rng.randint(1, 40), rng.randint(0, 60)
    return (
        f"INSERT INTO {{t}} SELECT id % 50, IF(id % 5 = 0, NULL, concat('v', id % 4)), id % 3, array(struct(id % 2)) "
        f"FROM range({start}, {start + n})"
    )


def delete(rng: random.Random) -> str:
    return f"DELETE FROM {{t}} WHERE k % {rng.randint(5, 20)} = {rng.randint(0, 4)}"


def update(rng: random.Random) -> str:
    return f"UPDATE {{t}} SET v = 'u{rng.randint(0, 2)}' WHERE k % {rng.randint(3, 20)} = {rng.randint(0, 2)}"


def move(rng: random.Random) -> str:
    return f"UPDATE {{t}} SET p = {rng.randint(0, 2)} WHERE k = {rng.randint(0, 49)}"


def merge(rng: random.Random) -> str:
    start = rng.randint(0, 45)
    return (
        f"MERGE INTO {{t}} USING (SELECT id AS k FROM range({start}, {start + 8})) s ON {{t}}.k = s.k "
        f"WHEN MATCHED AND {{t}}.p = {rng.randint(0, 2)} THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'm' "
        "WHEN NOT MATCHED THEN INSERT (k, v, p, l) VALUES (s.k, 'i', s.k % 3, NULL)"
    )


def overwrite(rng: random.Random) -> str:
    p = rng.randint(0, 2)
    return f"INSERT OVERWRITE {{t}} PARTITION (p = {p}) SELECT k, v, l FROM {{t}} WHERE p = {p} AND k % 3 > 0"


def mode(rng: random.Random) -> str:
    kind, how = rng.choice(["delete", "update", "merge"]), rng.choice(["copy-on-write", "merge-on-read"])
    return f"ALTER TABLE {{t}} SET TBLPROPERTIES ('write.{kind}.mode'='{how}')"


MOVES: tuple[Callable[[random.Random], str], ...] = (insert, insert, delete, update, move, merge, overwrite, mode)


@pytest.mark.parametrize(
    ("partitioned", "seed"),
    [("", 1), ("PARTITIONED BY (p)", 2)],
    ids=["whole", "partitioned"],
)
def test_random_history(their: Their, version: int, partitioned: str, seed: int) -> None:
    rng = random.Random(seed)
    columns = "k BIGINT, v STRING, p BIGINT, l ARRAY<STRUCT<x: BIGINT>>"
    their.create(columns, partitioned, version=version).sql(insert(rng))
    small, large = their.follow(), their.follow()
    small.catch_up()
    large.catch_up()
    for _ in range(STEPS):
        if rng.random() < 0.1:
            their.call("rewrite_data_files", "options => map('rewrite-all', 'true')")
        elif rng.random() < 0.1:
            their.call("rewrite_position_delete_files", "options => map('rewrite-all', 'true')")
        else:
            their.sql(rng.choice(MOVES if partitioned else [m for m in MOVES if m is not overwrite])(rng))
        small.catch_up()
    large.catch_up(check=False)
    assert large.rows == small.rows == their.contents()
