"""SQL text to a sqlglot tree, with errors that point at the place."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from rollview.errors import BadInput, Position
from rollview.frontend.refuse import never


def parse_query(text: str) -> exp.Query:
    """Exactly one query."""
    if not text.strip():
        raise BadInput("the view has no SQL", code="RV-SYNTAX", hint="give a SELECT statement")
    try:
        trees = [t for t in sqlglot.parse(text, read="spark") if t is not None]
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        place = Position(first["line"], first["col"]) if first.get("line") else None
        found = f" near {first['highlight']!r}" if first.get("highlight") else ""
        raise BadInput(f"the SQL cannot be parsed{found}", code="RV-SYNTAX", position=place) from None
    except TokenError as error:
        raise BadInput(f"the SQL cannot be read: {error}", code="RV-SYNTAX") from None
    if len(trees) != 1:
        raise BadInput(f"expected one statement, found {len(trees)}", code="RV-SYNTAX", hint="a view is one query")
    tree = trees[0]
    while isinstance(tree, exp.Subquery) and not tree.args.get("alias"):
        tree = tree.this
    if not isinstance(tree, exp.Query):
        raise never(f"a view is defined by a query, not by {tree.key.upper()}", "RV-NOT-A-QUERY", tree)
    return tree
