"""The same cases on DuckDB: emitted maintenance against emitted definition against the user's own text."""

from __future__ import annotations

import pytest
from tests.duck import check_on_duckdb
from tests.law import Subject
from tests.property.cases import Case, number

BATCH = 20


@pytest.mark.parametrize("batch", range(-(-number(2_000) // 10 // BATCH)))
def test_emitted_sql_keeps_the_law(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        case = Case.of(seed)
        try:
            check_on_duckdb(Subject.of(case.sql, case.tables), case.states, case.spans())
        except Exception as error:
            raise AssertionError(f"seed {seed}: {case.sql}") from error
