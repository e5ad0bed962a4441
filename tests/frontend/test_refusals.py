"""What the compiler refuses: whose fault it is (the type), why (the code), where, and what to do (the hint)."""

from __future__ import annotations

import pytest
from tests.frontend.tables import TABLES
from tests.pure_typer import PureTyper
from tests.rules.tables import by_name, table

from rollview.errors import BadInput, NotYetSupported, RollviewError, UnsupportedView
from rollview.plan.compile import compile_view

Refusal = tuple[str, str, tuple[int, int] | None]
"""SQL, code, and (line, column) where there is one"""

BAD: list[Refusal] = [
    # not SQL, or not one query
    ("", "RV-SYNTAX", None),
    ("   \n -- nothing\n", "RV-SYNTAX", None),
    ("SELEC a FROM t", "RV-SYNTAX", (1, 9)),
    ("SELECT a FROM", "RV-SYNTAX", (1, 10)),
    ("SELECT a b c FROM t", "RV-SYNTAX", (1, 12)),
    ("SELECT a FROM t WHERE (a > 1", "RV-SYNTAX", (1, 28)),
    ("SELECT a\nFROM t\nWHERE a = 1 AND", "RV-SYNTAX", (3, 13)),
    ("SELECT 'unclosed FROM t", "RV-SYNTAX", None),
    ("SELECT `unclosed FROM t", "RV-SYNTAX", None),
    ("SELECT a FROM t; SELECT b FROM t", "RV-SYNTAX", None),
    ("SELECT a FROM t; DROP TABLE t", "RV-SYNTAX", None),
    ("SELECT SUM(a, b) AS x FROM t", "RV-SYNTAX", (1, 16)),
    ("SELECT a FROM t GROUP BY", "RV-SYNTAX", (1, 8)),
    # names
    ("SELECT a FROM nowhere", "RV-UNKNOWN-TABLE", (1, 15)),
    ("SELECT a FROM other.t", "RV-UNKNOWN-TABLE", (1, 21)),
    ("SELECT a FROM rollview.secret.t", "RV-UNKNOWN-TABLE", (1, 31)),
    ("SELECT a FROM parquet.`/etc/passwd`", "RV-UNKNOWN-TABLE", (1, 23)),
    ("SELECT t.* FROM u", "RV-UNKNOWN-TABLE", (1, 10)),
    ("WITH w AS (SELECT a FROM w) SELECT a FROM w", "RV-UNKNOWN-TABLE", (1, 26)),
    ("SELECT z FROM t", "RV-UNKNOWN-COLUMN", (1, 8)),
    ("SELECT a,\n       z\nFROM t", "RV-UNKNOWN-COLUMN", (2, 8)),
    ("SELECT x.a FROM t", "RV-UNKNOWN-COLUMN", (1, 10)),
    ("SELECT t.z FROM t", "RV-UNKNOWN-COLUMN", (1, 10)),
    ("SELECT t.a FROM t x", "RV-UNKNOWN-COLUMN", (1, 10)),
    ("SELECT a FROM t WHERE `no``such` = 1", "RV-UNKNOWN-COLUMN", (1, 23)),
    ("SELECT z, COUNT(*) AS n FROM t GROUP BY z", "RV-UNKNOWN-COLUMN", (1, 8)),
    ("SELECT a + 1 AS x FROM t WHERE x > 1", "RV-UNKNOWN-COLUMN", (1, 32)),
    ("SELECT a FROM t, u", "RV-AMBIGUOUS", (1, 8)),
    ("SELECT t.a FROM t JOIN u ON a = c", "RV-AMBIGUOUS", (1, 29)),
    ("SELECT a, COUNT(*) AS n FROM t, u GROUP BY t.a", "RV-AMBIGUOUS", (1, 8)),
    ("SELECT x.a FROM t x JOIN u x ON x.a = x.c", "RV-DUPLICATE-ALIAS", (1, 26)),
    ("SELECT a, a FROM t", "RV-DUPLICATE-COLUMN", None),
    ("SELECT a AS x, b AS X FROM t", "RV-DUPLICATE-COLUMN", None),
    ("SELECT * FROM t JOIN u ON t.a = u.a", "RV-DUPLICATE-COLUMN", None),
    ("SELECT a AS __count FROM t", "RV-RESERVED-NAME", None),
    ("SELECT a AS `__anything` FROM t", "RV-RESERVED-NAME", None),
    ("SELECT NULL AS n FROM t", "RV-VOID-COLUMN", None),
    ("SELECT a, b FROM t UNION ALL SELECT a FROM u", "RV-UNION-COLUMNS", (1, 8)),
    ("SELECT a, b FROM t INTERSECT SELECT a FROM u", "RV-UNION-COLUMNS", (1, 8)),
    ("SELECT x FROM t AS y(x)", "RV-ALIAS-COLUMNS", (1, 15)),
    ("SELECT b FROM (SELECT a, b FROM t) x(b)", "RV-ALIAS-COLUMNS", (1, 36)),
    ("WITH w(x, y) AS (SELECT a FROM t) SELECT x FROM w", "RV-ALIAS-COLUMNS", (1, 25)),
    ("SELECT * FROM VALUES (1), (2, 3)", "RV-VALUES", (1, 23)),
    ("SELECT a, GROUPING(a) AS g FROM t GROUP BY a", "RV-GROUPING-SETS", (1, 11)),
    ("SELECT a, GROUPING(b) AS g FROM t GROUP BY ROLLUP (a)", "RV-GROUPING-SETS", (1, 11)),
    # aggregates where they cannot stand
    ("SELECT a FROM t WHERE SUM(b) > 1", "RV-AGGREGATE-IN-WHERE", (1, 23)),
    ("SELECT t.a FROM t JOIN u ON COUNT(*) = 1", "RV-AGGREGATE-PLACE", (1, 29)),
    ("SELECT a, COUNT(*) AS n FROM t GROUP BY COUNT(*)", "RV-AGGREGATE-PLACE", (1, 41)),
    ("SELECT a, COUNT(*) AS n FROM t GROUP BY 2", "RV-AGGREGATE-PLACE", (1, 11)),
    ("SELECT SUM(COUNT(*)) AS x FROM t", "RV-AGGREGATE-NESTED", (1, 8)),
    ("SELECT b, SUM(1 + AVG(a)) AS x FROM t GROUP BY b", "RV-AGGREGATE-NESTED", (1, 11)),
    ("SELECT COUNT() AS n FROM t", "RV-AGGREGATE-ARGUMENT", (1, 8)),
    ("SELECT SUM(*) AS n FROM t", "RV-AGGREGATE-ARGUMENT", (1, 8)),
    ("SELECT a, COUNT(*) AS n FROM t", "RV-NOT-GROUPED", (1, 8)),
    ("SELECT a, b, COUNT(*) AS n FROM t GROUP BY a", "RV-NOT-GROUPED", (1, 11)),
    ("SELECT a + b AS x, COUNT(*) AS n FROM t GROUP BY a", "RV-NOT-GROUPED", (1, 12)),
    ("SELECT a FROM t GROUP BY a HAVING b > 1", "RV-NOT-GROUPED", (1, 35)),
    ("SELECT * FROM t GROUP BY a", "RV-NOT-GROUPED", (1, 8)),
    ("SELECT a, COUNT(*) AS n FROM t GROUP BY 3", "RV-GROUP-POSITION", (1, 41)),
    ("SELECT a, COUNT(*) AS n FROM t GROUP BY (3)", "RV-GROUP-POSITION", (1, 42)),
    ("SELECT a, COUNT(*) AS n FROM t GROUP BY 0", "RV-GROUP-POSITION", (1, 41)),
    ("SELECT a, COUNT(*) AS n FROM t GROUP BY -1", "RV-GROUP-POSITION", (1, 42)),
    # subqueries
    ("SELECT a, (SELECT COUNT(*), SUM(a) FROM u) AS m FROM t", "RV-SUBQUERY-COLUMNS", (1, 19)),
    ("SELECT a, (SELECT a, c FROM u) AS m FROM t", "RV-SUBQUERY-COLUMNS", (1, 19)),
    # windows and limits
    ("SELECT a FROM t WHERE RANK() OVER (ORDER BY a) > 1", "RV-WINDOW-PLACE", (1, 23)),
    ("SELECT SUM(a) OVER w AS n FROM t", "RV-UNKNOWN-WINDOW", (1, 8)),
    ("SELECT SUM(RANK() OVER (ORDER BY a)) OVER (ORDER BY a) AS n FROM t", "RV-WINDOW-NESTED", (1, 12)),
    ("SELECT a FROM t ORDER BY 2 LIMIT 1", "RV-GROUP-POSITION", (1, 26)),
    ("SELECT a AS x, b AS x FROM t ORDER BY x LIMIT 1", "RV-AMBIGUOUS", (1, 39)),
    # parameters
    ("SELECT a FROM t WHERE a = :p", "RV-PARAMETER", (1, 23)),
    ("SELECT a FROM t WHERE a = ?", "RV-PARAMETER", (1, 23)),
    ("SELECT a FROM t WHERE a = ${p}", "RV-PARAMETER", (1, 23)),
]

NEVER: list[Refusal] = [
    ("INSERT INTO t VALUES (1)", "RV-NOT-A-QUERY", (1, 13)),
    ("DROP TABLE t", "RV-NOT-A-QUERY", (1, 12)),
    ("UPDATE t SET a = 1", "RV-NOT-A-QUERY", (1, 8)),
    ("CREATE TABLE x AS SELECT a FROM t", "RV-NOT-A-QUERY", (1, 14)),
    ("EXPLAIN SELECT a FROM t", "RV-NOT-A-QUERY", (1, 23)),
    ("SELECT rand() AS x FROM t", "RV-NONDETERMINISTIC", (1, 8)),
    ("SELECT a FROM t WHERE rand() > 0.5", "RV-NONDETERMINISTIC", (1, 23)),
    ("SELECT randn(3) AS x FROM t", "RV-NONDETERMINISTIC", (1, 8)),
    ("SELECT SUM(rand()) AS x FROM t", "RV-NONDETERMINISTIC", (1, 12)),
    ("SELECT now() AS x FROM t", "RV-NONDETERMINISTIC", (1, 8)),
    ("SELECT a FROM t WHERE NOT d < now() - INTERVAL 1 DAY", "RV-NONDETERMINISTIC", (1, 31)),
    ("SELECT current_timestamp() AS x FROM t", "RV-NONDETERMINISTIC", (1, 8)),
    ("SELECT a FROM t WHERE d = current_date OR a = 1", "RV-NONDETERMINISTIC", (1, 27)),
    ("SELECT date_add(current_date(), 1) AS x FROM t", "RV-NONDETERMINISTIC", (1, 17)),
    ("SELECT a, COUNT(*) AS n FROM t GROUP BY a, current_date()", "RV-NONDETERMINISTIC", (1, 44)),
    ("SELECT unix_timestamp() AS x FROM t", "RV-NONDETERMINISTIC", (1, 8)),
    ("SELECT localtimestamp() AS x FROM t", "RV-NONDETERMINISTIC", (1, 8)),
    ("SELECT uuid() AS x FROM t", "RV-NONDETERMINISTIC", (1, 8)),
    ("SELECT current_user() AS x FROM t", "RV-NONDETERMINISTIC", (1, 8)),
    ("SELECT monotonically_increasing_id() AS x FROM t", "RV-NONDETERMINISTIC", (1, 8)),
    ("SELECT input_file_name() AS x FROM t", "RV-NONDETERMINISTIC", (1, 8)),
    ("SELECT reflect('java.lang.Math', 'random') AS x FROM t", "RV-NONDETERMINISTIC", (1, 8)),
    ("SELECT aes_encrypt(s, 'key') AS x FROM t", "RV-NONDETERMINISTIC", (1, 8)),
    ("SELECT my_udf(a) AS x FROM t", "RV-UDF", (1, 8)),
    ("SELECT iff(a > 1, 1, 0) AS x FROM t", "RV-UDF", (1, 8)),
    ("SELECT db.my_udf(a) AS x FROM t", "RV-UDF", (1, 11)),
    ("SELECT TRANSFORM(a) USING 'cat' FROM t", "RV-UDF", (1, 27)),
    ("SELECT collect_list(a) AS m FROM t", "RV-UNDETERMINED", (1, 8)),
    ("SELECT upper(listagg(a)) AS m FROM t", "RV-UNDETERMINED", (1, 14)),
    ("SELECT listagg(a) WITHIN GROUP (ORDER BY b) AS m FROM t", "RV-UNDETERMINED", (1, 8)),
    ("SELECT sort_array(collect_list(a)), array_agg(a) AS m FROM t", "RV-UNDETERMINED", (1, 37)),
    ("SELECT b, first(a) AS m FROM t GROUP BY b", "RV-UNDETERMINED", (1, 11)),
    ("SELECT any_value(a) AS m FROM t", "RV-UNDETERMINED", (1, 8)),
    ("SELECT mode(a) AS m FROM t", "RV-UNDETERMINED", (1, 8)),
    ("SELECT min_by(a, b) AS m FROM t", "RV-UNDETERMINED", (1, 8)),
    ("SELECT percentile_approx(a, 0.5) AS m FROM t", "RV-APPROXIMATE", (1, 8)),
    ("SELECT a FROM t TABLESAMPLE (10 PERCENT)", "RV-NONDETERMINISTIC", (1, 30)),
    ("SELECT a FROM IDENTIFIER('t')", "RV-IDENTIFIER", (1, 15)),
    ("SELECT IDENTIFIER('a') AS x FROM t", "RV-IDENTIFIER", (1, 8)),
]

NOT_YET: list[Refusal] = [
    ("SELECT a, mode(b) OVER (ORDER BY a) AS n FROM t", "RV-WINDOW", (1, 11)),
    ("SELECT last_value(b) OVER (ORDER BY a) AS n FROM t", "RV-WINDOW-TIES", (1, 8)),
    ("SELECT a FROM t LIMIT length('ab')", "RV-LIMIT", (1, 23)),
    ("SELECT a FROM t WHERE (a IN (SELECT a FROM u)) <=> TRUE", "RV-SUBQUERY", (1, 24)),
    ("SELECT CASE a IN (SELECT a FROM u) WHEN TRUE THEN 1 END AS c FROM t", "RV-SUBQUERY", (1, 13)),
    (
        "SELECT e FROM t, LATERAL (SELECT DISTINCT c AS e FROM u FULL JOIN keyed ON u.a = t.a) q",
        "RV-SUBQUERY",
        (1, 67),
    ),
    ("SELECT a FROM t WHERE (a, b) < ALL (SELECT a, c FROM u)", "RV-SUBQUERY", (1, 24)),
    ("SELECT a FROM t UNION ALL BY NAME SELECT a FROM u", "RV-UNION-BY-NAME", (1, 8)),
    ("SELECT COUNT(t.*) AS m FROM t", "RV-AGGREGATE", (1, 8)),
    ("SELECT e FROM t LATERAL VIEW session_window(d, '5 minutes') x AS e", "RV-GENERATOR", (1, 30)),
    ("SELECT 1 + explode(array(a, b)) AS e FROM t", "RV-GENERATOR", (1, 12)),
    ("SELECT a FROM t WHERE explode(array(a, b)) > 1", "RV-GENERATOR", (1, 23)),
    ("SELECT session_window(d, '5 minutes') AS w, a FROM t", "RV-GENERATOR", (1, 8)),
    ("SELECT CAST(s AS TIME) AS x FROM t", "RV-TYPE", (1, 13)),
    ("SELECT e FROM t RIGHT JOIN LATERAL (SELECT c AS e FROM u WHERE u.a = t.a) q ON TRUE", "RV-LATERAL", (1, 75)),
    ("SELECT * FROM t JOIN u ON t.b = u.c PIVOT (SUM(t.a), SUM(u.a) FOR s IN ('x', 'y'))", "RV-PIVOT", (1, 44)),
    ("SELECT a, v:`x.y` AS y FROM (SELECT a, s AS v FROM t)", "RV-VARIANT-PATH", (1, 11)),
    ("SELECT a, e FROM t LEFT JOIN LATERAL explode(array(a, b)) AS x(e)", "RV-LATERAL", (1, 38)),
    ("SELECT a FROM t WHERE length(*) > 1", "RV-STAR", (1, 30)),
    ("SELECT * EXCEPT (st.x) FROM t", "RV-STAR-REPLACE", (1, 8)),
    ("SELECT a FROM t VERSION AS OF 3", "RV-FROM", (1, 31)),
    ("SELECT a FROM t TIMESTAMP AS OF '2020-01-01'", "RV-FROM", (1, 33)),
    ("SELECT * FROM range(10 + 1)", "RV-GENERATOR", (1, 15)),
    ("SELECT a FROM t FOR UPDATE", "RV-QUERY", (1, 8)),
]


def refusal(sql: str) -> RollviewError:
    with pytest.raises(RollviewError) as caught:
        compile_view(sql, TABLES, PureTyper(TABLES))
    return caught.value


@pytest.mark.parametrize(
    ("kind", "sql", "code", "place"),
    [
        (kind, *case)
        for kind, cases in ((BadInput, BAD), (UnsupportedView, NEVER), (NotYetSupported, NOT_YET))
        for case in cases
    ],
)
def test_refused(kind: type[RollviewError], sql: str, code: str, place: tuple[int, int] | None) -> None:
    error = refusal(sql)
    assert (type(error), error.code) == (kind, code)
    assert (error.position and (error.position.line, error.position.column)) == place
    assert error.hint


def test_enough_of_them() -> None:
    assert len({sql for sql, *_ in BAD + NEVER + NOT_YET}) >= 45


def test_the_message_names_the_culprit() -> None:
    assert "'other.t'" in refusal("SELECT a FROM other.t").message
    assert "'z'" in refusal("SELECT z FROM t").message
    assert "ASOF JOIN" in refusal("SELECT t.a FROM t ASOF JOIN u ON t.a = u.a").message


def test_the_hint_offers_what_is_there() -> None:
    assert refusal("SELECT z FROM u").hint == "columns in scope: a, c"
    assert refusal("SELECT x.* FROM u, t y").hint == "tables in scope: u, y"
    assert refusal("SELECT a, COUNT(*) AS n FROM t GROUP BY 3").hint == "positions go from 1 to 2"


def test_what_cannot_be_parsed_is_not_logged(capfd: pytest.CaptureFixture[str]) -> None:
    refusal("EXPLAIN SELECT a FROM t")
    assert capfd.readouterr().err == ""


def test_rows_that_cannot_be_compared() -> None:
    tables = by_name(table("m", "x map<int,int>, y"), table("k", "id, x map<int,int>", "id"))
    with pytest.raises(BadInput) as caught:
        compile_view("SELECT x, y FROM m", tables, PureTyper(tables))
    assert caught.value.code == "RV-UNGROUPABLE"
    compile_view("SELECT id, x FROM k", tables, PureTyper(tables))


def test_long_queries_compile() -> None:
    wide = "SELECT " + ", ".join(f"a + {i} AS c{i}" for i in range(1_000)) + " FROM t"
    assert len(compile_view(wide, TABLES, PureTyper(TABLES)).output) == 1_000
    long = " UNION ALL ".join(["SELECT a FROM t"] * 400)
    assert len(compile_view(long, TABLES, PureTyper(TABLES)).output) == 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 2_000 + "a" + ")" * 2_000 + " AS x FROM t",
        "SELECT a FROM " + "(SELECT a FROM " * 600 + "t" + ") x" * 600,
        "SELECT " + "a + " * 5_000 + "a AS x FROM t",
    ],
    ids=["parentheses", "subqueries", "operators"],
)
def test_deep_queries_are_refused_not_a_crash(sql: str) -> None:
    error = refusal(sql)
    assert (type(error), error.code) == (BadInput, "RV-TOO-DEEP")
    assert error.hint
