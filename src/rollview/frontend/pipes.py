"""|> operators: each works on the rows of all that stands before it.

A query is read as one SELECT as long as that says the same: `FROM t |> WHERE p |> ORDER BY x |> LIMIT 3`. Where an
operator asks for something that a SELECT does earlier, what stands before becomes a table in FROM, under the name that
its only table had: `FROM t |> LIMIT 3 |> WHERE p` is `SELECT * FROM (SELECT * FROM t LIMIT 3) AS t WHERE p`.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import TokenType, exp
from sqlglot.parsers.spark import SparkParser

ALWAYS = ("with_", "expressions", "from_", "joins", "laterals", "kind", "hint")
KEEPS_LEFT = ("", "LEFT")
"""the sides of joins before and after which rows of the left may be selected alike"""
UNORDERED = "unordered"
"""in the meta of a SELECT whose rows were in an order that it does not say"""


class PipeParser(SparkParser):
    """Spark's parser with pipe operators of our own."""

    joining = False
    """is the right side of a join being read? What follows it in the pipe is none of its own"""

    def _parse_pipe_syntax_query(self, query: exp.Query) -> exp.Query:
        if self.joining and isinstance(query, exp.Subquery):
            return query
        while self._match(TokenType.PIPE_GT):
            word = self._curr.text.upper()
            operator = self.OPERATORS.get(word)
            if operator is not None:
                query = operator(self, query)
            elif (made := self.parse_set_operation(this=query)) is not None:
                query = apart(made)
            else:
                query = self._piped_join(query, word)
        return query

    def _piped_where(self, query: exp.Query) -> exp.Select:
        return rows(query, "where", "order").where(self._parse_where(), copy=False)

    def _piped_order(self, query: exp.Query) -> exp.Select:
        found = rows(query, "where")
        found.meta.pop(UNORDERED, None)
        found.set("order", self._parse_order())
        return found

    def _piped_limit(self, query: exp.Query) -> exp.Select:
        """LIMIT n [OFFSET m], of the rows that an earlier LIMIT or OFFSET has left."""
        limit, offset = self._parse_limit(), self._parse_offset()
        found = query if isinstance(query, exp.Select) else apart(query)
        if UNORDERED in found.meta:
            self.raise_error("What stands between ORDER BY and LIMIT loses the order")
        if offset is not None:
            found = skipping(found, offset)
        known = found.args.get("limit")
        if limit is None or known is None:
            found.set("limit", limit or known)
        elif None in (numbers := [number(known), number(limit)]):
            found = apart(found, named=True).limit(limit.expression, copy=False)
        else:
            found.set("limit", exp.Limit(expression=exp.Literal.number(min(n for n in numbers if n is not None))))
        return found

    def _piped_select(self, query: exp.Query) -> exp.Select:
        asked = self._parse_select(consume_pipe=False)
        assert isinstance(asked, exp.Select)
        found = ordered_rows(query, asked)
        for part in ("expressions", "distinct", "windows"):
            found.set(part, asked.args.get(part))
        return found if found.args.get("order") else apart(found)

    def _piped_extend(self, query: exp.Query) -> exp.Select:
        self._match_text_seq("EXTEND")
        asked = exp.select(exp.Star(), *self._parse_expressions())
        found = ordered_rows(query, asked)
        found.set("expressions", asked.expressions)
        return found if found.args.get("order") else apart(found, named=True)

    def _piped_set(self, query: exp.Query) -> exp.Select:
        """SET a = x, b = y replaces columns, one after the other."""
        self._match_text_seq("SET")
        for item in self._parse_csv(self._parse_assignment):
            if not isinstance(item, exp.EQ):
                self.raise_error("Expected column = expression")
            query = rows(query, "where")
            query.set("expressions", [exp.Star(replace=[exp.alias_(item.expression, item.this.name, quoted=True)])])
            query = apart(query, named=True)
        return rows(query)

    def _piped_drop(self, query: exp.Query) -> exp.Select:
        self._match_text_seq("DROP")
        found = rows(query, "where")
        found.set("expressions", [exp.Star(except_=self._parse_csv(self._parse_column))])
        return apart(found, named=True)

    def _piped_as(self, query: exp.Query) -> exp.Select:
        return apart(query, self._parse_table_alias())

    def _piped_aggregate(self, query: exp.Query) -> exp.Select:
        """The keys, and then the aggregates."""
        self._match_text_seq("AGGREGATE")
        measures = [] if self._curr and self._curr.token_type is TokenType.GROUP_BY else self._parse_expressions()
        keys = self._parse_expressions() if self._match(TokenType.GROUP_BY) else []
        if any(isinstance(k, exp.Literal) for k in keys):
            self.raise_error("A key is a column or an expression, not a position")
        found = rows(query, "where")
        found.meta.pop(UNORDERED, None)
        found.set("expressions", [*keys, *measures])
        if keys:
            found.set("group", exp.Group(expressions=[k.unalias().copy() for k in keys]))
        return apart(found)

    def _piped_pivot(self, query: exp.Query) -> exp.Select:
        found = rows(query)
        if found.args.get("joins") or found.args.get("laterals") or found.args["from_"].this.args.get("pivots"):
            found = apart(found)
        found.args["from_"].this.set("pivots", self._parse_pivots())
        return apart(found)

    def _piped_sample(self, query: exp.Query) -> exp.Select:
        found = rows(query)
        found.set("sample", self._parse_table_sample())
        return found

    def _piped_join(self, query: exp.Query, word: str) -> exp.Select:
        self.joining, outer = True, self.joining
        try:
            join = self._parse_join()
        finally:
            self.joining = outer
        if join is None:
            self.raise_error(f"Unsupported pipe operator: {word}")
        assert join is not None
        alone = not query.args.get("joins") and not query.args.get("laterals")
        merged = join.side not in KEEPS_LEFT or join.method or join.args.get("using")
        found = rows(query) if alone or merged else rows(query, "where")
        return found.join(join, copy=False)

    OPERATORS: ClassVar = {
        "WHERE": _piped_where,
        "ORDER BY": _piped_order,
        "LIMIT": _piped_limit,
        "OFFSET": _piped_limit,
        "SELECT": _piped_select,
        "EXTEND": _piped_extend,
        "SET": _piped_set,
        "DROP": _piped_drop,
        "AS": _piped_as,
        "AGGREGATE": _piped_aggregate,
        "PIVOT": _piped_pivot,
        "UNPIVOT": _piped_pivot,
        "TABLESAMPLE": _piped_sample,
    }


def rows(query: exp.Query, *more: str) -> exp.Select:
    """The query as SELECT * of some tables with nothing else but some clauses."""
    bare = isinstance(query, exp.Select) and query.expressions == [exp.Star()] and query.args.get("from_") is not None
    if bare and all(part in (*ALWAYS, *more) for part, value in query.args.items() if value):
        assert isinstance(query, exp.Select)
        return query
    return apart(query, named=bare)


def ordered_rows(query: exp.Query, asked: exp.Select) -> exp.Select:
    """The rows that another SELECT list shows, still in their order where its own names mean nothing else."""
    order = query.args.get("order")
    sorts = {c.name.lower() for c in order.find_all(exp.Column)} if order is not None else set()
    taken = any(i.alias_or_name.lower() in sorts and not isinstance(i, exp.Column) for i in asked.expressions)
    return rows(query, "where") if taken or asked.args.get("distinct") else rows(query, "where", "order")


def apart(query: exp.Query, alias: exp.TableAlias | None = None, *, named: bool = False) -> exp.Select:
    """SELECT * of the query in parentheses; `named`: as its only table, if it has but one."""
    clause = query.args.get("with_")
    if clause is not None:
        clause.pop()
    source = query.args.get("from_")
    if named and source is not None and not query.args.get("joins") and not query.args.get("laterals"):
        only = source.this.alias_or_name
        alias = exp.TableAlias(this=exp.to_identifier(only, quoted=True)) if only else None
    table = query if isinstance(query, exp.Subquery) and not query.alias else exp.Subquery(this=query)
    if alias is not None:
        table.set("alias", alias)
    found = exp.select(exp.Star()).from_(table, copy=False)
    found.set("with_", clause)
    inside = query.unnest() if isinstance(query, exp.Subquery) else query
    if UNORDERED in inside.meta or inside.args.get("order"):
        found.meta[UNORDERED] = True
    return found


def skipping(query: exp.Select, offset: exp.Expr) -> exp.Select:
    """The query without its first rows."""
    limit, known, more = (query.args.get("limit"), query.args.get("offset"), offset)
    numbers = [number(c) for c in (limit, known, more) if c is not None]
    if None in numbers:
        query = apart(query, named=True)
        query.set("offset", offset)
        return query
    skipped = number(more) or 0
    query.set("offset", exp.Offset(expression=exp.Literal.number((number(known) or 0) + skipped)))
    if limit is not None:
        query.set("limit", exp.Limit(expression=exp.Literal.number(max(0, (number(limit) or 0) - skipped))))
    return query


def number(clause: exp.Expr | None) -> int | None:
    tree = None if clause is None else clause.args["expression"].unnest()
    return int(tree.name) if isinstance(tree, exp.Literal) and tree.is_int else None
