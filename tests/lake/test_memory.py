from __future__ import annotations

import pyarrow as pa

from rollview.lake.memory import Memory


def rows(n: int) -> pa.Table:
    return pa.table({"a": pa.array(range(n), pa.int64())})


def test_the_rows_that_were_asked_for_last_stay() -> None:
    memory = Memory(most=200)
    memory.put("a", rows(10))
    memory.put("b", rows(10))
    assert memory.get("a") is not None
    memory.put("c", rows(10))
    assert memory.get("b") is None
    assert memory.get("a") == memory.get("c") == rows(10)


def test_rows_under_the_same_key_take_their_place() -> None:
    memory = Memory(most=200)
    for _ in range(5):
        memory.put("a", rows(10))
    memory.put("b", rows(10))
    assert memory.get("a") == rows(10)


def test_more_than_fits_is_not_kept_and_drives_nothing_out() -> None:
    memory = Memory(most=200)
    memory.put("a", rows(10))
    memory.put("b", rows(100))
    assert memory.get("b") is None
    assert memory.get("a") == rows(10)
