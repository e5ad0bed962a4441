"""Some of the same cases on DuckDB: emitted maintenance against emitted definition against the user's own text."""

from __future__ import annotations

import pytest
from tests.duck import check_on_duckdb
from tests.law import Subject
from tests.property.cases import Case, seeds, spans

BATCH = 10


@pytest.mark.parametrize("batch", range(-(-seeds(100) // 10 // BATCH)))
def test_emitted_sql_keeps_the_law(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        case = Case.of(seed, shared=True)
        subject = Subject.of(case.sql, case.tables)
        for states in case.histories:
            try:
                check_on_duckdb(subject, states, spans(states), through_spark=seed % 2 == 0, interpreted=True)
            except Exception as error:
                raise AssertionError(f"seed {seed}: {case.sql}") from error
