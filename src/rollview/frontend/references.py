"""Which names in a statement mean tables and views, and which mean its own CTEs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import pairwise

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from rollview.frontend.dialect import SparkSQL
from rollview.frontend.parse import parse_query
from rollview.names import USER_NAMESPACE

Seen = Mapping[str, Iterable[tuple[str | None, str]]]
"""by table: what the columns are called now (None: gone) that a query sees by other names"""
OURS = ((), (USER_NAMESPACE,), ("rollview", USER_NAMESPACE))
"""what may stand before the name of a relation of the warehouse"""


def references(tree: exp.Expr) -> list[exp.Table]:
    """The places that read a table or view, wherever it lives."""
    return [t for t in tree.find_all(exp.Table) if t.name and not is_cte(t)]


def is_ours(node: exp.Table) -> bool:
    """May the name mean a relation of the warehouse?"""
    return tuple(p.name.lower() for p in node.parts[:-1]) in OURS


def is_cte(node: exp.Table) -> bool:
    """Is the name a CTE at this place? A CTE is seen by what follows it, and not by itself."""
    name = node.name.lower()
    if node.db:
        return False
    here: exp.Expr = node
    while here.parent is not None:
        above = here.parent
        visible: Collection[exp.Expr] = ()
        if isinstance(above, exp.With):
            place = next(i for i, cte in enumerate(above.expressions) if cte is here)
            visible = above.expressions if above.args.get("recursive") else above.expressions[:place]
        elif (clause := above.args.get("with_")) is not None and clause is not here:
            visible = clause.expressions
        if any(cte.alias.lower() == name for cte in visible):
            return True
        here = above
    return False


def respelled(text: str, names: Collection[str]) -> str:
    """The text with the warehouse's names in lower case, as the catalog has them; Spark's catalogs mind the case."""
    try:
        trees = [tree for tree in sqlglot.parse(text, read=SparkSQL) if tree is not None]
    except SqlglotError:
        return text  # whoever runs it will say what is wrong
    found = [t for tree in trees for t in references(tree) if is_ours(t) and t.name.lower() in names]
    return spliced(text, [(*place(t.parts[-1]), exp.to_identifier(t.name.lower(), quoted=True)) for t in found])


def through(text: str, seen: Seen) -> str:
    """The text for Spark, which knows only what the columns are called now."""
    if not seen:
        return text

    def shown(name: str) -> exp.Subquery | None:
        if name not in seen:
            return None
        columns = [exp.alias_(exp.column(c, quoted=True), to, quoted=True) for c, to in seen[name] if c is not None]
        return exp.select(*columns).from_(exp.to_identifier(name, quoted=True)).subquery()

    return rebound(text, shown)


def rebound(text: str, state: Callable[[str], exp.Table | exp.Subquery | None]) -> str:
    """The text with the name of each relation of ours replaced by a state of it; the rest is left as it was written,
    so that nothing but Spark reads it."""
    changes: list[tuple[int, int, exp.Expr]] = []
    queried, tree = tables_queried(text), parse_query(text)
    for node in references(tree):
        bound = state(node.name.lower()) if is_ours(node) else None
        if bound is not None:
            alias = None if node.alias else exp.TableAlias(this=exp.to_identifier(node.name, quoted=True))
            bound.set("alias", alias)
            first = place(node.parts[0])[0]
            whole = exp.select(exp.Star()).from_(bound) if first in queried else bound
            changes.append((queried.get(first, first), place(node.parts[-1])[1], whole))
    return spliced(text, [*changes, *spelled_out(tree)])


def spelled_out(tree: exp.Query) -> Iterator[tuple[int, int, exp.Expr]]:
    """Where columns stand behind the whole name of their table, and its last part, which is all that a state has."""
    for node in tree.find_all(exp.Column):
        table = node.args.get("table")
        if len(node.parts) > 2 and table is not None and tuple(p.name.lower() for p in node.parts[:-2]) in OURS:
            yield place(node.parts[0])[0], place(table)[1], exp.to_identifier(table.name, quoted=True)


def tables_queried(text: str) -> dict[int, int]:
    """Where TABLE begins of every query TABLE t, by where the name begins: no state but the present has that form."""
    if "table" not in text.lower():
        return {}
    tokens = SparkSQL().tokenize(text)
    return {name.start: word.start for word, name in pairwise(tokens) if word.token_type is TokenType.TABLE}


def place(name: exp.Expr) -> tuple[int, int]:
    """The first and the last character of an identifier."""
    return name.meta_get("start"), name.meta_get("end")


def spliced(text: str, changes: Iterable[tuple[int, int, exp.Expr]]) -> str:
    """The text with everything from one character to another replaced by the SQL of a tree; from the back, so that
    positions stay true."""
    for start, end, tree in sorted(changes, key=lambda change: -change[0]):
        text = text[:start] + tree.sql(dialect="spark", identify=True) + text[end + 1 :]
    return text
