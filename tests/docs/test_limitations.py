"""Every reason code is explained, and docs/limitations.md says what the source says."""

from __future__ import annotations

import pytest
from tests.docs.limitations import PAGE, SOURCE, codes, page

from rollview.reasons import REASONS


def test_every_refusal_is_explained() -> None:
    missing = {code for section in codes().values() for code in section} - set(REASONS)
    assert not missing, "add them to rollview/reasons.py, then run pytest tests/docs --regenerate-golden"


def test_every_reason_occurs() -> None:
    source = "".join(p.read_text() for p in SOURCE.rglob("*.py") if p.name != "reasons.py")
    assert [code for code in REASONS if f'"{code}' not in source] == []


def test_the_page_is_up_to_date(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--regenerate-golden"):
        PAGE.write_text(page())
    assert PAGE.exists() and PAGE.read_text() == page(), "run pytest tests/docs --regenerate-golden"
