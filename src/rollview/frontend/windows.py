"""Window functions in a SELECT list, QUALIFY, and ORDER BY … LIMIT.

A window function is taken out of its expression before the expression is resolved: what remains is a call
(`WindowCall`) with the function's operands, which every pass treats like any other function, also above GROUP BY.
Afterwards each call becomes a column of a Window node, one node for each PARTITION BY.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from rollview.algebra.relation import Relation, Window
from rollview.algebra.scalar import Scalar, col
from rollview.frontend.refuse import WINDOW_FUNCTIONS, bad, function_name, not_yet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rollview.frontend.scope import Allocator


class WindowCall(exp.Expression, exp.Func):
    """Stands for a window function while its operands are resolved; `template` is its place in `Windows`."""

    arg_types: ClassVar = {"template": True, "expressions": False}
    is_var_len_args = True


AROUND = (exp.IgnoreNulls, exp.RespectNulls, exp.Filter, exp.WithinGroup)


class Windows:
    """The window functions of one SELECT."""

    def __init__(self, node: exp.Select, allocator: Allocator) -> None:
        self.allocator = allocator
        self.named = {w.name.lower(): w for w in node.args.get("windows") or ()}
        self.templates: list[exp.Window] = []

    def taken_out(self, tree: exp.Expr) -> exp.Expr:
        """The expression with calls in place of its window functions."""

        def replace(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Window) or node.find_ancestor(exp.Query):
                return node  # a subquery's windows are its own
            window = self.specified(node)
            check(window)
            self.templates.append(window)
            number = exp.Literal.number(len(self.templates) - 1)
            return WindowCall(template=number, expressions=[s.copy() for s in slots(window)])

        return tree.transform(replace)

    def specified(self, node: exp.Window) -> exp.Window:
        """The window with the definition of its name put in."""
        if not node.alias:
            return node
        known = self.named.get(node.alias.lower())
        if known is None:
            raise bad(f"there is no window {node.alias!r}", "RV-UNKNOWN-WINDOW", node, "define it in WINDOW")
        full: exp.Window = known.copy()
        full.set("this", node.this.copy())
        full.set("over", "OVER")
        return full

    def put_back(
        self, relation: Relation, outputs: list[Scalar], keys: Sequence[Scalar] = ()
    ) -> tuple[Relation, list[Scalar]]:
        """The relation under all windows that the outputs call, each within the keys, and the outputs over it."""
        found: dict[str, tuple[str, Scalar]] = {}

        def replace(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, WindowCall):
                return node
            window = Scalar(self.filled(node, keys))
            if str(window) not in found:
                found[str(window)] = (self.allocator.name(function_name(called(window.tree))), window)
            return col(found[str(window)][0]).tree

        replaced = [Scalar(o.tree.transform(replace)) if o.tree.find(WindowCall) else o for o in outputs]
        by_partition: dict[tuple[str, ...], list[tuple[str, Scalar]]] = {}
        for name, window in found.values():
            partition = tuple(sorted({k.sql("spark") for k in window.tree.args.get("partition_by") or ()}))
            by_partition.setdefault(partition, []).append((name, window))
        for columns in by_partition.values():
            relation = Window(relation, tuple(columns))
        return relation, replaced

    def filled(self, call: WindowCall, keys: Sequence[Scalar]) -> exp.Window:
        window = self.templates[int(call.args["template"].name)].copy()
        for slot, operand in zip(list(slots(window)), call.expressions, strict=True):
            slot.replace(operand.copy())
        for key in keys:
            window.append("partition_by", key.tree.copy())
        return window


def called(window: exp.Expr) -> exp.Expr:
    """The function itself, without FILTER, WITHIN GROUP and IGNORE NULLS."""
    call: exp.Expr = window.this
    while isinstance(call, AROUND):
        call = call.this
    return call


def clauses(window: exp.Expr) -> Iterator[exp.Expr]:
    """The operands of the window function's own FILTER and WITHIN GROUP; an aggregate among them may have others."""
    call: exp.Expr = window.this
    while isinstance(call, AROUND):
        if isinstance(call, exp.Filter):
            yield call.expression.this
        if isinstance(call, exp.WithinGroup):
            yield from (o.this for o in call.expression.expressions)
        call = call.this


def slots(window: exp.Window) -> Iterator[exp.Expr]:
    """The operands: what the function takes, its FILTER and WITHIN GROUP, PARTITION BY and ORDER BY."""
    yield from (a for a in called(window).iter_expressions() if not isinstance(a, exp.Star))
    yield from clauses(window)
    yield from window.args.get("partition_by") or ()
    order = window.args.get("order")
    yield from (o.this for o in order.expressions) if order is not None else ()


def check(window: exp.Window) -> None:
    call = called(window)
    if function_name(call) not in WINDOW_FUNCTIONS:
        raise not_yet(f"{function_name(call)}() as a window function", "RV-WINDOW", call)
    for operand in slots(window):
        if operand.find(exp.Window):
            raise bad("a window function cannot contain another", "RV-WINDOW-NESTED", operand, "use a subquery")
