"""Stars of structs, and stars in calls: what they stand for."""

from __future__ import annotations

import re

import pytest
from tests.frontend.tables import TABLES
from tests.pure_typer import PureTyper

from rollview.plan.compile import compile_view
from rollview.plan.emit import emit, sql, table

STANDS_FOR = {
    "SELECT a, st.*, b FROM t": "SELECT a, st.x, st.y, b FROM t",
    "SELECT z.st.* EXCEPT (X), a FROM t z": "SELECT st.y, a FROM t",
    "SELECT t.a, u.* EXCEPT (a) FROM t JOIN u ON t.a = u.a": "SELECT t.a, u.c FROM t JOIN u ON t.a = u.a",
    "SELECT t.* EXCEPT (st), t.ST.* FROM t": "SELECT a, b, s, d, f, st.x, st.y FROM t",
    "SELECT st.*, COUNT(*) AS n FROM t GROUP BY st": "SELECT st.x, st.y, COUNT(*) AS n FROM t GROUP BY st",
    "SELECT st.* FROM (SELECT a, b FROM t) AS st": "SELECT a, b FROM t",
    "SELECT default.u.* FROM u": "SELECT a, c FROM u",
    "SELECT struct(st.*, A, a + 1, s AS z) AS q FROM t": (
        "SELECT named_struct('x', st.x, 'y', st.y, 'A', a, 'col4', a + 1, 'z', s) AS q FROM t"
    ),
    "SELECT struct(*) AS q FROM u": "SELECT named_struct('a', a, 'c', c) AS q FROM u",
    "SELECT concat(u.* EXCEPT (a), a) AS q FROM u": "SELECT concat(c, a) AS q FROM u",
    "SELECT struct(x.a, y.A) AS q FROM u x, u y": "SELECT named_struct('a', x.a, 'A', y.a) AS q FROM u x, u y",
    "SELECT a FROM u WHERE struct(a, c).c > 1": "SELECT a FROM u WHERE named_struct('a', a, 'c', c).c > 1",
}


@pytest.mark.parametrize("text", STANDS_FOR)
def test_what_a_star_stands_for(text: str) -> None:
    assert definition(text) == definition(STANDS_FOR[text])


def definition(text: str) -> str:
    view = compile_view(text, TABLES, PureTyper(TABLES))
    emitted = sql(emit(view.definition, lambda scan: table(scan.table)))
    return re.sub(r"_\d+`|[()]", "`", emitted).replace("`", "")
