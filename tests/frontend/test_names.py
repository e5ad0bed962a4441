"""How names are resolved; DuckDB, which reads the user's own text, is the judge."""

from __future__ import annotations

from collections import Counter

import pytest
from sqlglot import exp
from tests.duck import check_on_duckdb
from tests.frontend.tables import TABLES
from tests.law import Subject
from tests.pure_typer import PureTyper
from tests.steps import Rows

from rollview.algebra.relation import Project
from rollview.algebra.schema import BaseTable, Column, Schema
from rollview.errors import BrokenInvariant
from rollview.frontend.lower import lower
from rollview.frontend.parse import parse_query
from rollview.plan.compile import compile_view
from rollview.plan.emit import emit, sql, table


class Struct(dict[str, object]):
    """A struct that can be counted."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def state(*numbers: int | None) -> Rows:
    t = [(a, i, f"s{i}", "2024-01-01", 0.5, Struct(x=i, y="y")) for i, a in enumerate(numbers)]
    return {
        "t": Counter(t),
        "u": Counter([(1, 10), (1, 10), (2, 20), (None, 30)]),
        "keyed": Counter([(a, i) for i, a in enumerate(dict.fromkeys(numbers)) if a is not None]),
    }


STATES = [state(1, 2, None, 1), state(2, 2, 3)]


@pytest.mark.parametrize(
    "text",
    [
        # case does not matter, anywhere
        "SELECT A, T.B FROM T",
        "SELECT X.a AS Y FROM t AS x WHERE x.A > 1",
        "WITH W AS (SELECT a FROM t) SELECT w.A FROM w",
        # qualified, aliased, shadowed
        "SELECT t.a, u.c FROM t JOIN u ON t.a = u.a",
        "SELECT x.a, y.a AS a2 FROM t x JOIN t y ON x.a = y.b",
        "WITH t AS (SELECT a + 1 AS a FROM t) SELECT a FROM t",
        "WITH w AS (SELECT a FROM t), v AS (SELECT a + 1 AS b FROM w) SELECT w.a, v.b FROM w JOIN v ON w.a = v.b",
        "SELECT a FROM (WITH w AS (SELECT a FROM u) SELECT a FROM w) q",
        "WITH w AS (SELECT a FROM t) SELECT a FROM (WITH w AS (SELECT c AS a FROM u) SELECT a FROM w) q",
        "SELECT a FROM (SELECT a, b FROM t)",
        "SELECT q.n FROM (SELECT a AS n FROM (SELECT b AS a FROM t) p) q",
        # structs: a field, a column of the same name, a table of the same name
        "SELECT st.x AS f FROM t",
        "SELECT t.st.x AS f FROM t",
        "SELECT st.x + b AS f FROM t WHERE t.st.x > 0",
        "SELECT st.x AS k, COUNT(*) AS n FROM t GROUP BY st.x",
        "SELECT st.a FROM u st",
        # USING: the merged column has no owner
        "SELECT a, b, c FROM u JOIN t USING (a)",
        "SELECT a, x.a AS xa, w.a AS wa FROM u x JOIN t w USING (a)",
        "SELECT w.*, c FROM u x JOIN (SELECT a, b FROM t) w USING (a)",
        "SELECT a, x.c, z.v FROM u x JOIN t USING (a) JOIN keyed z ON z.id = a",
        # stars
        "SELECT * FROM u",
        "SELECT u.*, b FROM u JOIN (SELECT b FROM t) x ON u.a = x.b",
        "SELECT *, a + 1 AS a1 FROM u",
        # an alias of the same SELECT list; a column wins
        "SELECT a + 1 AS x, x * 2 AS y, y - x AS z FROM t",
        "SELECT b AS a, a + 1 AS x FROM t",
        # GROUP BY: expression, position, alias, ALL; a column wins over an alias
        "SELECT a + 1 AS k, COUNT(*) AS n FROM t GROUP BY a + 1",
        "SELECT a + 1 AS k, COUNT(*) AS n FROM t GROUP BY 1",
        "SELECT COUNT(*) AS n, a + 1 AS k FROM t GROUP BY (2)",
        "SELECT a + 1 AS k, COUNT(*) AS n FROM t GROUP BY k",
        "SELECT a, b + 1 AS k, COUNT(*) AS n FROM t GROUP BY ALL",
        "SELECT COUNT(*) AS n, SUM(a) AS t FROM t GROUP BY ALL",
        "SELECT -b AS a, COUNT(*) AS n FROM t GROUP BY a, b",
        "SELECT (a + 1) * 2 AS k, COUNT(*) AS n FROM t GROUP BY a",
        "SELECT a + 1 + COUNT(*) AS k FROM t GROUP BY a + 1",
        "SELECT a, COUNT(*) AS n FROM t GROUP BY A, t.a",
        # HAVING: an alias, a key, an aggregate that is not shown
        "SELECT a, COUNT(*) AS n FROM t GROUP BY a HAVING n > 1",
        "SELECT a AS k FROM t GROUP BY a HAVING SUM(b) > 1 AND k > 0",
        "SELECT COUNT(*) AS n FROM t HAVING COUNT(*) > 3",
        # operators keep their places when columns are replaced by expressions
        "SELECT NOT p AS q FROM (SELECT a = 1 OR b = 1 AS p FROM t) x",
        "SELECT p = q AS r FROM (SELECT a > 1 AND b > 0 AS p, a IS NULL OR b = 2 AS q FROM t) x",
        "SELECT d * d AS s, -d AS m, 1 - d AS o FROM (SELECT a - b AS d FROM t) x",
        "SELECT p, COUNT(*) AS n FROM (SELECT a = 1 OR b = 1 AS p FROM t) x GROUP BY p",
        "SELECT x.p FROM (SELECT a = 1 OR b = 1 AS p FROM t) x "
        "JOIN (SELECT a, COUNT(*) > 1 OR a = 3 AS q FROM t GROUP BY a) y ON x.p = y.q",
        "SELECT a IN (1, 2) = (b BETWEEN 0 AND 1) AS e FROM t",
        "SELECT CASE WHEN p THEN 1 ELSE 0 END AS c FROM (SELECT NOT (a = 1) AS p FROM t) x",
    ],
)
def test_resolution(text: str) -> None:
    check_on_duckdb(Subject.of(text, TABLES), STATES, [(0, 1)])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT * FROM (SELECT c, a FROM u) x JOIN (SELECT b, a FROM t) y USING (a)", "a c b"),
        ("SELECT * FROM (SELECT c, a, 1 AS k FROM u) x JOIN (SELECT b, a, 1 AS k FROM t) y USING (k, a)", "k a c b"),
        (
            "SELECT * FROM (SELECT c, a FROM u) x JOIN (SELECT b, a, 1 AS k FROM t) y USING (a) "
            "JOIN (SELECT v, 1 AS k FROM keyed) z USING (k)",
            "k a c b v",
        ),
        ("SELECT y.* FROM (SELECT c, a FROM u) x JOIN (SELECT b, a FROM t) y USING (a)", "a b"),
        ("SELECT x.* FROM (SELECT c, a FROM u) x JOIN (SELECT b, a FROM t) y USING (a)", "a c"),
        (
            "SELECT * FROM (SELECT v FROM keyed) z "
            "JOIN ((SELECT c, a FROM u) x JOIN (SELECT b, a FROM t) y USING (a)) ON z.v = x.a",
            "v a c b",
        ),
    ],
)
def test_a_star_lists_using_columns_first(text: str, names: str) -> None:
    """As Spark does; DuckDB does not."""
    view = compile_view(text, TABLES, PureTyper(TABLES))
    assert [c.name for c in view.output] == names.split()


class Trusting(PureTyper):
    """Takes any function for one of Spark's own."""

    def is_builtin(self, function: str) -> bool:
        return True


@pytest.mark.parametrize(
    "call",
    [
        "TO_CHAR(a, '99G999')",
        "PARSE_JSON(s)",
        "UNIX_DATE(d)",
        "DATE_SUB(d, 1)",
        "CHAR_LENGTH(s)",
        "NVL(a, 0)",
        "INSTR(s, 'x')",
        "TRUNC(d, 'week')",
        "DATE_FORMAT(d, 'y')",
        "REGEXP_EXTRACT(s, '(a)', 1)",
        "NAMED_STRUCT('q', a)",
        "TRANSFORM(ARRAY(a), x -> x + b)",
        "SUBSTRING(s, 2, 1)",
        "ARRAY(a, b)[0]",
    ],
)
def test_functions_keep_the_names_that_the_user_wrote(call: str) -> None:
    """sqlglot would make a plain cast of to_char, and nothing at all of parse_json."""
    lowered, _ = lower(parse_query(f"SELECT {call} AS x FROM t"), TABLES, Trusting(TABLES))
    assert isinstance(lowered.relation, Project)
    [(_, scalar)] = lowered.relation.columns
    assert str(scalar).replace("`", "") == call


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("'it''s'", "it's"),
        ('"a""b"', 'a"b'),
        ("''''", "'"),
        ("'a\"\"b'", 'a""b'),
        ("\"it''s\"", "it''s"),
        (r"'a\'b'", "a'b"),
        (r"'a\nb'", "a\nb"),
        (r"'a\qb'", "aqb"),
        (r"'\u0041\101'", "AA"),
        (r"'\\d\d'", r"\dd"),
        (r"r'a\b'", r"a\b"),
        (r"'x\%y\_'", r"x\%y\_"),
        ("'表 🚀'", "表 🚀"),
    ],
)
def test_strings_are_read_as_spark_reads_them(written: str, meant: str) -> None:
    """Checked against Spark 4.1; and what is emitted for Spark reads back as the same string."""
    view = compile_view(f"SELECT a, {written} AS x FROM t WHERE s = {written}", TABLES, PureTyper(TABLES))
    emitted = sql(emit(view.extent.rows, lambda scan: table(scan.table)))
    for tree in (parse_query(f"SELECT {written} AS x FROM t"), parse_query(emitted)):
        assert {lit.this for lit in tree.find_all(exp.Literal, exp.RawString)} == {meant}


@pytest.mark.parametrize("prefix", ["default.", "rollview.default.", "`DEFAULT`."])
def test_the_warehouse_may_be_named(prefix: str) -> None:
    view = compile_view(f"SELECT a FROM {prefix}t", TABLES, PureTyper(TABLES))
    assert view.reads == {"t"}


def test_outputs_are_named_as_the_user_wrote_them() -> None:
    view = compile_view("SELECT a AS Total, B, t.s AS `two words` FROM t", TABLES, PureTyper(TABLES))
    assert [c.name for c in view.output] == ["Total", "B", "two words"]
    assert view.extent.reader.names == ("Total", "B", "two words")


class Misplaced(PureTyper):
    """A Spark that lists the columns in another order."""

    def query(self, sql: str) -> Schema:
        return tuple(reversed(super().query(sql)))


def test_columns_that_spark_lists_in_another_order_are_noticed() -> None:
    with pytest.raises(BrokenInvariant) as caught:
        compile_view("SELECT a, b FROM t", TABLES, Misplaced(TABLES))
    assert caught.value.code == "RV-RESOLVE-COLUMNS"


class OwnNames(PureTyper):
    """A Spark that names expressions in its own way."""

    def query(self, sql: str) -> Schema:
        return tuple(Column("count(1)" if c.name == "c" else c.name, c.type) for c in super().query(sql))


@pytest.mark.parametrize("text", ["SELECT COUNT(*) FROM t", "SELECT * FROM (SELECT a, COUNT(*) FROM t GROUP BY a) x"])
def test_expressions_without_an_alias_are_named_by_spark(text: str) -> None:
    view = compile_view(text, TABLES, OwnNames(TABLES))
    assert view.extent.reader.names[-1] == "count(1)"


def test_order_means_nothing_and_is_noted() -> None:
    view = compile_view("SELECT a FROM t ORDER BY a", TABLES, PureTyper(TABLES))
    assert view.notes == ("RV-ORDER-IGNORED",)


def test_hints_and_comments_mean_nothing() -> None:
    text = "SELECT /*+ BROADCAST(u) */ t.a -- the column\nFROM t /* the table */ JOIN u ON t.a = u.a"
    check_on_duckdb(Subject.of(text, TABLES), STATES, [(0, 1)])


HOSTILE = (
    "two words",
    "semi;colon",
    "quo'te",
    'double"quote',
    "back`tick",
    "-- comment",
    "/* open",
    "drop table t",
    "naïve_λ_表_🚀",
    "SELECT",
    "a.b",
    "x" * 200,
    "%s{0}$1",
    "tab\there",
    "0starts_with_digit",
    "_one_underscore",
)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_identifiers(name: str) -> None:
    """Any name that the catalog takes, as a table and as a column; every generated name is quoted."""
    tables = {name.lower(): BaseTable(name, (Column(name, "int"), Column("v", "int")))}
    spelled = "`" + name.replace("`", "``") + "`"
    text = f"SELECT x.{spelled} AS {spelled}, SUM(v) AS total FROM {spelled} x GROUP BY x.{spelled}"
    subject = Subject.of(text, tables)
    assert [c.name for c in subject.view.output] == [name, "total"]
    subject.sql = text.replace(spelled, '"' + name.replace('"', '""') + '"')  # as DuckDB writes it
    states: list[Rows] = [{name.lower(): Counter([(1, 2), (1, None)])}, {name.lower(): Counter([(1, 5), (2, 2)])}]
    check_on_duckdb(subject, states, [(0, 1)])


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_identifiers_survive_sparks_quoting(name: str) -> None:
    """What is emitted for Spark reads back as the same name."""
    tables = {name.lower(): BaseTable(name, (Column(name, "int"),))}
    spelled = "`" + name.replace("`", "``") + "`"
    view = compile_view(f"SELECT {spelled} FROM {spelled}", tables, PureTyper(tables))
    emitted = sql(emit(view.extent.rows, lambda scan: table("rollview", "default", scan.table)))
    again = compile_view(emitted, tables, PureTyper(tables))
    assert [c.name for c in again.output] == [name]
