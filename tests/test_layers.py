"""Data and knowledge flow one way: a package imports only from those before it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rollview

LAYERS = [
    "algebra",
    "frontend",
    "deltas",
    "rules",
    "plan",
    "lake",
    "catalog",
    "capture",
    "propagate",
    "apply",
    "verify",
]
ROOT = Path(rollview.__file__).parent


@pytest.mark.parametrize("package", LAYERS)
def test_a_package_imports_only_from_those_before_it(package: str) -> None:
    later = LAYERS[LAYERS.index(package) + 1 :]
    for file in (ROOT / package).rglob("*.py"):
        imported = set(re.findall(r"^(?:from|import) rollview\.(\w+)", file.read_text(), re.MULTILINE))
        assert not imported & set(later), file
