"""QUALIFY, and ORDER BY … LIMIT … OFFSET.

What they ask for beyond the SELECT list is computed beside it, as hidden columns, and dropped again. The first k rows
are the rows whose row_number() is at most k; which of them are the first is settled as for any window (ties.py).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

from sqlglot import exp

from rollview.algebra.relation import Filter, Project, Window
from rollview.algebra.scalar import Scalar, col
from rollview.frontend.refuse import bad, not_yet, place_of
from rollview.frontend.scope import Allocator, Lowered, Named, Scope, is_named, name_of
from rollview.frontend.windows import Windows

if TYPE_CHECKING:
    from rollview.frontend.scalars import Scalars


def is_limited(node: exp.Expr) -> bool:
    return bool(node.args.get("limit") or node.args.get("offset"))


class Asked:
    """A SELECT with its window functions taken out and with hidden columns for QUALIFY and ORDER BY."""

    def __init__(self, node: exp.Select, allocator: Allocator) -> None:
        self.windows = Windows(node, allocator)
        self.qualify = node.args.get("qualify")
        order = node.args.get("order")
        wanted = is_limited(node) and not node.args.get("distinct") and not is_by_all(order)
        self.ordered: list[exp.Ordered] = order.expressions if wanted and order is not None else []
        self.outputs = {name_of(i).lower() for i in node.expressions if is_named(i)}
        self.bodies = {i.alias.lower(): i.this for i in node.expressions if isinstance(i, exp.Alias)}
        asked = [self.qualify.this] if self.qualify is not None else []
        asked += [self.spelled(o.this) for o in self.ordered if not self.is_output(o.this)]
        self.hidden = [allocator.name("asked") for _ in asked]
        self.query = node
        if asked or any(i.find(exp.Window) for i in node.expressions):
            self.query = node.copy()
            extra = [exp.alias_(tree.copy(), name) for tree, name in zip(asked, self.hidden, strict=True)]
            items = [*self.query.expressions, *extra]
            self.query.set("expressions", [self.windows.taken_out(i) for i in items])

    def is_output(self, tree: exp.Expr) -> bool:
        """Is it a position or the name of an output?"""
        named = isinstance(tree, exp.Column) and len(tree.parts) == 1 and tree.name.lower() in self.outputs
        return named or Scalar(tree).is_integer

    def spelled(self, tree: exp.Expr) -> exp.Expr:
        """ORDER BY sees the outputs before the columns of FROM."""

        def replace(node: exp.Expr) -> exp.Expr:
            named = isinstance(node, exp.Column) and len(node.parts) == 1 and node.name.lower() in self.bodies
            return exp.Paren(this=self.bodies[node.name.lower()].copy()) if named else node

        return tree.transform(replace)

    def answered(self, lowered: Lowered) -> Lowered:
        """The rows with their window functions, those that QUALIFY keeps; hidden columns are no longer visible."""
        if self.windows.templates:
            assert isinstance(lowered.relation, Project)
            outputs = [e for _, e in lowered.relation.columns]
            keys = [e for n, e in lowered.relation.columns if n in lowered.keys]
            relation, outputs = self.windows.put_back(lowered.relation.source, outputs, keys)
            columns = tuple(zip(lowered.relation.names, outputs, strict=True))
            lowered = replace(lowered, relation=Project(relation, columns))
        shown = len(lowered.columns) - len(self.hidden)
        self.keys = [c.unique for c in lowered.columns[shown:]]
        relation = lowered.relation
        if self.qualify is not None:
            relation = Filter(relation, col(self.keys.pop(0)))
        return replace(lowered, relation=relation, columns=lowered.columns[:shown])

    def order(self, lowered: Lowered) -> list[exp.Ordered] | None:
        """ORDER BY over the answered rows; None if only the outputs can tell."""
        keys = iter(self.keys)
        found = []
        for o in self.ordered:
            column = output(o.this, lowered) if self.is_output(o.this) else col(next(keys))
            found.append(with_key(o, column))
        return found if self.ordered else None


def first_rows(
    node: exp.Expr,
    lowered: Lowered,
    scalars: Scalars,
    allocator: Allocator,
    order: list[exp.Ordered] | None = None,
) -> Lowered:
    """τ: rows `offset` + 1 to `offset` + `limit` in the order; without ORDER BY any rows will do."""
    if not is_limited(node):
        return lowered
    clause = node.args.get("order")
    if order is None:
        scope = Scope.of(lowered.relation, Named("", lowered.columns))
        order = [resolved(o, lowered, scope, scalars) for o in (clause.expressions if clause is not None else ())]
        if is_by_all(clause):
            order = [with_key(clause.expressions[0], col(c.unique)) for c in lowered.columns]
    skipped, kept = number(node.args.get("offset")) or 0, number(node.args.get("limit"))
    place = allocator.name("place")
    window = exp.Window(this=exp.Anonymous(this="row_number"), over="OVER")
    if order:
        window.set("order", exp.Order(expressions=order))
    if lowered.keys:
        window.set("partition_by", [col(k).tree.copy() for k in lowered.keys])
    tests: list[exp.Expr] = [exp.GT(this=col(place).tree, expression=exp.Literal.number(skipped))] if skipped else []
    if kept is not None:
        tests.append(exp.LTE(this=col(place).tree, expression=exp.Literal.number(skipped + kept)))
    relation = Window(lowered.relation, ((place, Scalar(window)),))
    return replace(lowered, relation=Filter(relation, Scalar(exp.and_(*tests)))) if tests else lowered


def is_by_all(order: exp.Expr | None) -> TypeGuard[exp.Order]:
    """ORDER BY ALL: by every output, from left to right."""
    return order is not None and [repr(o.this) for o in order.expressions] == [repr(exp.var("ALL"))]


def resolved(ordered: exp.Ordered, lowered: Lowered, scope: Scope, scalars: Scalars) -> exp.Ordered:
    tree = ordered.this
    return with_key(ordered, output(tree, lowered) if Scalar(tree).is_integer else scalars.lower(tree, scope))


def with_key(ordered: exp.Ordered, key: Scalar) -> exp.Ordered:
    copy = ordered.copy()
    copy.set("this", key.tree.copy())
    return copy


def output(tree: exp.Expr, lowered: Lowered) -> Scalar:
    """The output at a position, or of a name."""
    if isinstance(tree, exp.Column):
        found = [c.unique for c in lowered.columns if c.given and c.name.lower() == tree.name.lower()]
        if len(found) != 1:
            raise bad(f"the column name {tree.name!r} is ambiguous", "RV-AMBIGUOUS", tree, "qualify it")
        return col(found[0])
    return col(lowered.columns[place_of(tree, len(lowered.columns), "ORDER BY")].unique)


def number(clause: exp.Expr | None) -> int | None:
    """The number that LIMIT or OFFSET names."""
    if clause is None:
        return None
    if isinstance(clause, exp.Fetch):
        raise bad("Spark has no FETCH", "RV-SYNTAX", clause, "LIMIT")
    tree = clause.args["expression"].unnest()
    if isinstance(tree, exp.Var) and tree.name.upper() == "ALL":
        return None
    found = folded(tree)
    if found is None:
        raise not_yet(f"{clause.key.upper()} {tree.sql('spark')}", "RV-LIMIT", clause, "write the number")
    return found


def folded(tree: exp.Expr) -> int | None:
    """The value of arithmetic with integers; None if it is something else."""
    match tree.unnest():
        case exp.Literal() as literal:
            return int(literal.name) if literal.is_int else None
        case exp.Neg() as negated:
            value = folded(negated.this)
            return None if value is None else -value
        case exp.Cast() as cast if cast.to.this is exp.DType.INT:
            text = cast.this.name.strip() if isinstance(cast.this, exp.Literal) and cast.this.is_string else ""
            return int(text) if text.isdigit() else folded(cast.this)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Mod() as operation:
            return computed(operation, folded(operation.left), folded(operation.right))
    return None


def computed(operation: exp.Binary, left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    match operation:
        case exp.Add():
            return left + right
        case exp.Sub():
            return left - right
        case exp.Mul():
            return left * right
    return int(math.fmod(left, right)) if right else None
