"""Which row comes first when ORDER BY does not say: a choice that is made once, and becomes part of the definition.

row_number() over rows that tie, lag, a frame of ROWS: SQL leaves their values open, so two evaluations of the same
view over the same tables may differ. Where a key shows that no two rows of a partition tie there is nothing to choose.
Elsewhere the ORDER BY is completed: by the key of the rows if it is known, else by all their columns that are used
(rows that agree in all of them may change places without anybody noticing). The result is one of those that SQL allows,
and the same one in every refresh and every recompute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra import facts
from rollview.algebra.relation import Filter, Project, Relation, Window
from rollview.algebra.scalar import Scalar, col
from rollview.algebra.walking import rebuilt
from rollview.frontend.refuse import function_name, not_yet
from rollview.frontend.windows import called

if TYPE_CHECKING:
    from rollview.algebra.schema import Tables
    from rollview.frontend.typing import Typer

RANKING = ("rank", "dense_rank", "percent_rank", "cume_dist")
"""they give rows that tie the same value"""
BY_PLACE = ("row_number", "ntile", "lag", "lead")
"""they look at the order alone, not at a frame"""
BY_ORDER = ("first_value", "first", "last_value", "last", "nth_value", "any_value", "collect_list", "array_agg")
"""they depend on the order of the rows in the frame"""
UNORDERED = ("map<", "variant")


class Ties:
    """Completes the orders of a view; `found` tells whether there was anything to choose."""

    def __init__(self, tables: Tables, typer: Typer) -> None:
        self.tables = tables
        self.typer = typer
        self.found = False

    def settled(self, node: Relation, used: frozenset[str] | None = None) -> Relation:
        """`used` are the columns that those above read; None: all of them."""
        below: frozenset[str] | None = None
        if isinstance(node, Project):
            below = frozenset().union(*(e.columns for _, e in node.columns))
        elif isinstance(node, Filter) and used is not None:
            below = used | node.predicate.columns
        node = rebuilt(node, lambda child: self.settled(child, below))
        if not isinstance(node, Window):
            return node
        names = node.source.names
        if used is not None and len(node.columns) == 1:
            names = tuple(n for n in names if n in used | node.columns[0][1].columns) or names
        return Window(node.source, tuple((n, self.completed(w, node, names)) for n, w in node.columns))

    def completed(self, window: Scalar, node: Window, names: tuple[str, ...]) -> Scalar:
        """The window with an order in which only rows tie that agree in all the given columns."""
        key = facts.key(node.source, self.tables)
        tree = window.tree
        settled = not depends_on_ties(tree) or settles(tree, names)
        settled = settled or (key is not None and settles(tree, key))
        ordered = tree.args.get("order") or function_name(called(tree)) not in BY_PLACE
        if settled and ordered:  # Spark wants an order even where there is one row
            return window
        self.found = self.found or not settled
        if not completable(tree):
            raise not_yet(
                f"{function_name(called(tree))}() over RANGE, where rows tie",
                "RV-WINDOW-TIES",
                tree,
                "complete the ORDER BY, or use ROWS",
            )
        copy = tree.copy()
        order = copy.args.get("order") or exp.Order(expressions=[])
        given = {o.this.name for o in order.expressions if isinstance(o.this, exp.Column)}
        for name in key or self.orderable(node, names):
            if name not in given:
                order.append("expressions", exp.Ordered(this=col(name).tree, desc=False, nulls_first=True))
        if not copy.args.get("order") and copy.args.get("spec") is None and function_name(called(tree)) not in BY_PLACE:
            copy.set("spec", whole_partition())
        copy.set("order", order)
        return Scalar(copy)

    def orderable(self, node: Window, names: tuple[str, ...]) -> tuple[str, ...]:
        for column in self.typer.relation(node.source):
            if column.name in names and any(mark in column.type for mark in UNORDERED):
                raise not_yet(
                    f"a window over rows with a {column.type}, which has no order,",
                    "RV-WINDOW-TIES",
                    None,
                    "order by a key, and declare it on the table",
                )
        return names


def depends_on_ties(window: exp.Expr) -> bool:
    name = function_name(called(window))
    if name in RANKING:
        return False
    if name in BY_PLACE or name in BY_ORDER:
        return True
    spec = window.args.get("spec")
    if spec is None or spec.args["kind"] != "ROWS":
        return False
    return not spec.args.get("start") == spec.args.get("end") == "UNBOUNDED"


def settles(window: exp.Expr, names: tuple[str, ...]) -> bool:
    """Do PARTITION BY and ORDER BY name all of these columns?"""
    order = window.args.get("order")
    trees = [*(window.args.get("partition_by") or ()), *((o.this for o in order.expressions) if order else ())]
    return {t.name for t in trees if isinstance(t, exp.Column)}.issuperset(names)


def completable(window: exp.Expr) -> bool:
    """Does a longer ORDER BY leave the frame as it is? Under RANGE rows that tie are in it together."""
    name, spec = function_name(called(window)), window.args.get("spec")
    if name in BY_PLACE or (spec is not None and spec.args["kind"] == "ROWS"):
        return True
    if spec is None and not window.args.get("order"):
        return True
    respects = not isinstance(window.this, exp.IgnoreNulls) and len(called(window).expressions) < 2
    start = "UNBOUNDED" if spec is None else spec.args.get("start")
    end = "CURRENT ROW" if spec is None else spec.args.get("end")
    if name in ("first_value", "first") and start == "UNBOUNDED":
        return respects
    return name in ("last_value", "last") and end == "UNBOUNDED" and respects


def whole_partition() -> exp.WindowSpec:
    return exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="UNBOUNDED", end_side="FOLLOWING")
