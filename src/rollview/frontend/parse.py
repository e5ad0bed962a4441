"""SQL text to a sqlglot tree, with errors that point at the place."""

from __future__ import annotations

import logging

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from rollview.errors import BadInput, Position
from rollview.frontend.dialect import SparkSQL
from rollview.frontend.refuse import never

logging.getLogger("sqlglot").addHandler(logging.NullHandler())  # what it cannot parse is refused, not logged


def parse_query(text: str) -> exp.Query:
    """Exactly one query."""
    if not text.strip():
        raise BadInput("the view has no SQL", code="RV-SYNTAX", hint="give a SELECT statement")
    try:
        trees = [t for t in sqlglot.parse(text, read=SparkSQL) if t is not None]
    except ParseError as error:
        raise unparsed(error) from None
    except TokenError as error:
        raise BadInput(
            f"the SQL cannot be read: {error}", code="RV-SYNTAX", hint="a quote or a comment may be left open"
        ) from None
    if len(trees) != 1:
        raise BadInput(f"expected one statement, found {len(trees)}", code="RV-SYNTAX", hint="a view is one query")
    tree = trees[0]
    if isinstance(tree, exp.Values):
        return exp.select(exp.Star()).from_(tree)
    if not isinstance(tree, exp.Query):
        raise never(
            f"a view is defined by a query, not by {tree.key.upper()}",
            "RV-NOT-A-QUERY",
            tree,
            "give a SELECT statement",
        )
    return tree


def unparsed(error: ParseError) -> BadInput:
    first = error.errors[0] if error.errors else {}
    text = str(first.get("highlight") or "")
    # sqlglot tells where the token ends
    place = Position(first["line"], max(1, first["col"] - max(0, len(text) - 1))) if first.get("line") else None
    near = f" near {text!r}" if text else ""
    hint = "a view is one SELECT statement in Spark SQL"
    return BadInput(f"the SQL cannot be parsed{near}", code="RV-SYNTAX", position=place, hint=hint)
