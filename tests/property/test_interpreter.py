"""incremental == recompute on random views and histories, thousands of cases, on the interpreter."""

from __future__ import annotations

import pytest
from tests.property.cases import Case, check, number

BATCH = 100


@pytest.mark.parametrize("batch", range(-(-number(2_000) // BATCH)))
def test_incremental_equals_recompute(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        case = Case.of(seed)
        try:
            check(case)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {case.sql}") from error
