"""Every golden file says what is generated, and what is generated keeps the law on DuckDB."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.duck import check_on_duckdb
from tests.golden.golden import MARK, Golden
from tests.golden.schema import TABLES, states
from tests.steps import Step

FILES = sorted((Path(__file__).parent / "views").glob("*.sql"))
REFUSED = [f for f in FILES if f.name.startswith("refused_")]
OF_SPARK_ALONE = ("session_window", "time_window")
"""DuckDB has no such functions; tests/spark/test_sql_views executes them"""


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_generated(path: Path, request: pytest.FixtureRequest) -> None:
    golden = Golden.read(path)
    text = golden.head + MARK + golden.generated()
    if request.config.getoption("--regenerate-golden"):
        path.write_text(text)
    assert path.read_text() == text, f"{path.name} is out of date; look at the difference, then --regenerate-golden"


@pytest.mark.parametrize(
    "path", [f for f in FILES if f not in REFUSED and f.stem not in OF_SPARK_ALONE], ids=lambda p: p.stem
)
def test_executed(path: Path) -> None:
    golden = Golden.read(path)
    before, after = states(golden.shapes)
    assert Step(TABLES, before, after).shapes == golden.shapes, "the rows do not change as the file says"
    check_on_duckdb(golden.subject(), [before, after], [(0, 1)])


def test_there_are_enough() -> None:
    assert len(FILES) - len(REFUSED) >= 15
    assert len(REFUSED) >= 5
