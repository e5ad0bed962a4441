"""Spark's SQL as Spark 4 reads it, on top of sqlglot's Spark.

sqlglot translates functions between dialects, and on the way from Spark to Spark some change their meaning (to_char,
parse_json, unix_date …). Here a function keeps the name that the user wrote, unless its arguments have a syntax of
their own or the algebra knows it. Checked against the examples of all of Spark 4.1's functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sqlglot import TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser

from rollview.frontend.pipes import PipeParser
from rollview.frontend.refuse import words

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlglot.tokenizer_core import Token

KNOWN = words("COUNT SUM AVG COALESCE IF ARRAY DATEADD DATE_ADD DATEDIFF DATE_DIFF TIMESTAMPADD TIMESTAMPDIFF")
OWN_SYNTAX = words("CAST TRY_CAST EXTRACT TRIM POSITION OVERLAY SUBSTRING SUBSTR CEIL FLOOR")

MAX_ROUNDS = "max_rounds"
"""in the meta of the alias of a recursive CTE"""
NUMBERS = {exp.DType.DECIMAL: "DECIMAL", exp.DType.BIGINT: "BIGINT", exp.DType.INT: "INT"}


class SparkSQL(Spark):
    """The dialect in which a user's view is read and queries are written."""

    class Tokenizer(Spark.Tokenizer):
        # a doubled quote inside a string is a quote, not the end of one string and the start of another
        STRING_ESCAPES: ClassVar = ["\\", "'", '"']

    class Parser(PipeParser):
        # read as names, which know where they stand in the text: see time_filters.py
        NO_PAREN_FUNCTIONS: ClassVar = {
            n: f
            for n, f in SparkParser.NO_PAREN_FUNCTIONS.items()
            if n not in (TokenType.CURRENT_DATE, TokenType.CURRENT_TIMESTAMP)
        }
        # the UNION of GROUP BY ALL UNION (SELECT …) is no function to group by
        QUERY_MODIFIER_TOKENS: ClassVar = {*SparkParser.QUERY_MODIFIER_TOKENS, *SparkParser.SET_OPERATIONS}
        FUNCTIONS: ClassVar = {n: f for n, f in SparkParser.FUNCTIONS.items() if n in KNOWN}
        FUNCTION_PARSERS: ClassVar = {n: f for n, f in SparkParser.FUNCTION_PARSERS.items() if n in OWN_SYNTAX}
        # FOR follows the aggregates of a PIVOT; Spark has no comprehensions
        RANGE_PARSERS: ClassVar = {n: f for n, f in SparkParser.RANGE_PARSERS.items() if n is not TokenType.FOR}
        ADD_JOIN_ON_TRUE = False
        SUPPORTS_TABLE_QUERY = True
        SUBQUERY_TOKENS: ClassVar = {*SparkParser.SUBQUERY_TOKENS, TokenType.TABLE}
        COLON_IS_VARIANT_EXTRACT = True
        COLON_CHAIN_IS_SINGLE_EXTRACT = False

        def parse(self, raw_tokens: list[Token], sql: str) -> list[exp.Expr | None]:
            """WINDOW w AS … is a clause; else it is the function of that name, or a column."""
            for place, token in enumerate(raw_tokens):
                clause = [t.token_type for t in raw_tokens[place + 2 : place + 3]] == [TokenType.ALIAS]
                if token.token_type is TokenType.WINDOW and not clause:
                    token.token_type = TokenType.VAR
            return super().parse(raw_tokens, sql)

        def _parse_join(
            self,
            skip_join_token: bool = False,
            parse_bracket: bool = False,
            alias_tokens: Collection[TokenType] | None = None,
        ) -> exp.Join | None:
            """A PIVOT behind a join turns all that stands before it in FROM, not the last table alone. A join without
            a condition is one ON TRUE, but for LEFT JOIN LATERAL, where it matters whether that was written."""
            join = super()._parse_join(skip_join_token, parse_bracket, alias_tokens)
            if join is None or join.this is None:
                return join
            if pivots := join.this.args.get("pivots"):
                join.this.set("pivots", None)
                join.set("pivots", [*pivots, *(join.args.get("pivots") or ())])
            said = any(join.args.get(part) for part in ("on", "using", "method"))
            open_side = isinstance(join.this, exp.Lateral) and join.side
            if not said and join.kind in ("", "INNER", "OUTER") and not open_side:
                join.set("on", exp.true())
            return join

        def _parse_table_alias(self, alias_tokens: Collection[TokenType] | None = None) -> exp.TableAlias | None:
            """Behind the name of a recursive CTE may stand how many rounds it may have."""
            alias = super()._parse_table_alias(alias_tokens)
            if alias is not None and self._match_text_seq("MAX", "RECURSION", "LEVEL"):
                number = self._parse_number()
                alias.meta[MAX_ROUNDS] = None if number is None else int(number.name)
            return alias

        def _parse_interval(
            self, require_interval: bool = True, parse_function_unit: bool = True
        ) -> exp.Add | exp.Interval | None:
            """INTERVAL 1 DAY 2 HOURS is one value: not a sum, of which a minus before it would take the first only. And
            what is added to an interval is none by itself."""
            if not require_interval and self._prev.token_type is TokenType.PLUS:
                return exp.Interval()
            found = super()._parse_interval(require_interval, parse_function_unit)
            if not isinstance(found, exp.Add):
                return found
            first, more = found.this, found.expression
            if more.this is None:
                self._retreat(self._index - 1)
                return first if isinstance(first, exp.Interval) else None
            return exp.Interval(this=exp.Literal.string(f"{quantity(first)} {quantity(more)}"))

        def _parse_term(self, parse_mod: bool = True) -> exp.Expr | None:
            """Spark's LIMIT is no percentage, so % is an operator there as well."""
            return super()._parse_term()

        def _parse_pivot_aggregation(self) -> exp.Expr | None:
            """Any expression of aggregates, not only a call."""
            return self._parse_expression()

    class Generator(SparkGenerator):
        # what other dialects have in a SELECT and Spark lacks is never here, and the search for it takes long
        TRANSFORMS: ClassVar = {kind: f for kind, f in SparkGenerator.TRANSFORMS.items() if kind is not exp.Select}
        # Spark knows WITH inside a query; so nothing is searched for one to be moved
        EXPRESSIONS_WITHOUT_NESTED_CTES: ClassVar = set()

        def identifier_sql(self, expression: exp.Identifier) -> str:
            """Most of what is written are quoted names of letters and digits: without asking what else they may be."""
            text = expression.args["this"]
            if expression.args.get("quoted") and text.isidentifier():
                return f"`{text}`"
            return super().identifier_sql(expression)

        def column_sql(self, expression: exp.Column) -> str:
            args = expression.args
            table, name = args.get("table"), args.get("this")
            if isinstance(table, exp.Identifier) and isinstance(name, exp.Identifier) and not args.get("db"):
                return f"{self.identifier_sql(table)}.{self.identifier_sql(name)}"
            return super().column_sql(expression)

        def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
            """sqlglot parses the names of types that this may be, for every cast anew."""
            to = expression.to
            if safe_prefix or to.this not in NUMBERS or {*expression.args} - {"this", "to"}:
                return super().cast_sql(expression, safe_prefix=safe_prefix)
            digits = f"({self.expressions(to, flat=True)})" if to.expressions else ""
            return f"CAST({self.sql(expression, 'this')} AS {NUMBERS[to.this]}{digits})"

        def tablealias_sql(self, expression: exp.TableAlias) -> str:
            rounds = expression.meta_get(MAX_ROUNDS)
            said = super().tablealias_sql(expression)
            return said if rounds is None else f"{said} MAX RECURSION LEVEL {rounds}"

        def table_sql(self, expression: exp.Table, sep: str = " AS ") -> str:
            """Values that are joined in parentheses keep their own."""
            if isinstance(expression.this, exp.Values):
                expression = expression.copy()
                expression.set("this", exp.Paren(this=expression.this))
            return super().table_sql(expression, sep)


def quantity(interval: exp.Expr) -> str:
    """How many of a unit, as text."""
    return " ".join(part.sql(SparkSQL).strip("'") for part in interval.iter_expressions())
