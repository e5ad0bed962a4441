"""incremental == recompute on random views and histories, by interpreter. ROLLVIEW_CASES=50000 for a long run."""

from __future__ import annotations

import pytest
from tests.property.cases import Case, batches, check

BATCH = 50


@pytest.mark.parametrize("batch", batches(100, BATCH))
def test_incremental_equals_recompute(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        case = Case.of(seed)
        try:
            check(case)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {case.sql}") from error
