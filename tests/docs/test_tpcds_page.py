"""docs/tpcds.md says what the compiler does."""

from __future__ import annotations

import pytest
from tests.docs.tpcds import PAGE, page


@pytest.mark.long
def test_the_page_is_up_to_date(request: pytest.FixtureRequest) -> None:
    found = page()
    if request.config.getoption("--regenerate-golden"):
        PAGE.write_text(found)
    assert PAGE.exists() and PAGE.read_text() == found, "run pytest tests/docs --regenerate-golden"
