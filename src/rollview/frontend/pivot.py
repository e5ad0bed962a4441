"""PIVOT and UNPIVOT, said by other operators.

PIVOT is a grouping by the columns that it does not name; each of its columns is an aggregate of the rows with one value
(NULL, also for COUNT, where there are none). UNPIVOT is a generator of one row per column, less the NULLs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import Filter, Generate, Project
from rollview.algebra.scalar import Scalar, col
from rollview.frontend.grouping import Grouping
from rollview.frontend.refuse import not_yet
from rollview.frontend.scope import Named, Scope, Visible

if TYPE_CHECKING:
    from rollview.frontend.lower import Lowering


def pivoted(lowering: Lowering, scope: Scope, pivot: exp.Pivot) -> Scope:
    """What FROM … PIVOT (…) or UNPIVOT (…) offers."""
    fields: list[exp.Expr] = pivot.args.get("fields") or []
    if len(fields) != 1 or not isinstance(fields[0], exp.In) or isinstance(fields[0].this, exp.Tuple):
        raise not_yet("PIVOT by several columns", "RV-PIVOT", pivot)
    if pivot.args.get("unpivot"):
        return unpivoted(lowering, scope, pivot, fields[0])
    return columns_of_values(lowering, scope, pivot, fields[0])


def columns_of_values(lowering: Lowering, scope: Scope, pivot: exp.Pivot, field: exp.In) -> Scope:
    new = lowering.allocator.name
    calls = [(c.alias, c.unalias()) for c in pivot.expressions]
    if len(calls) > 1 and not all(alias for alias, _ in calls):
        raise not_yet("PIVOT with several aggregates without names", "RV-PIVOT", pivot, "give each an alias")
    named = {scope.resolve(c).column for tree in [field.this, *pivot.expressions] for c in tree.find_all(exp.Column)}
    grouping = Grouping(scope, lowering.scalars, lowering.allocator, lowering.tables)
    outputs: list[tuple[Visible, Scalar]] = []
    for visible in scope.shown:
        if visible.unique not in named:
            grouping.keys.append((key := new(visible.name), col(visible.unique)))
            outputs.append((Visible(visible.name, new(visible.name)), col(key)))
    for value in field.expressions:
        body = value.this if isinstance(value, exp.PivotAlias) else value
        same = exp.NullSafeEQ(this=field.this.copy(), expression=body.copy())
        for alias, call in calls:
            chosen = exp.Filter(this=call.copy(), expression=exp.Where(this=same.copy()))
            rows = exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=same.copy()))
            none = exp.EQ(this=rows, expression=exp.Literal.number(0))
            stem = value.alias if isinstance(value, exp.PivotAlias) else body.name
            name = f"{stem}_{alias}" if len(calls) > 1 else stem
            outputs.append((Visible(name, new(name)), grouping.above(exp.Case().when(none, exp.null()).else_(chosen))))
    relation = Project(grouping.aggregate(), tuple((v.unique, e) for v, e in outputs))
    return Scope.of(relation, Named(pivot.alias, tuple(v for v, _ in outputs)))


def unpivoted(lowering: Lowering, scope: Scope, pivot: exp.Pivot, field: exp.In) -> Scope:
    if len(pivot.expressions) != 1:
        raise not_yet("UNPIVOT into several columns", "RV-PIVOT", pivot)
    new = lowering.allocator.name
    trees = [(e.this, e.alias) if isinstance(e, exp.PivotAlias) else (e, e.name) for e in field.expressions]
    values = [(alias, scope.resolve(tree)) for tree, alias in trees]
    key, value = (Visible(n.name, new(n.name)) for n in (field.this, pivot.expressions[0]))
    arguments: list[exp.Expr] = [exp.Literal.number(len(values))]
    for name, scalar in values:
        arguments += [exp.Literal.string(name), scalar.tree.copy()]
    stack = Scalar(exp.Anonymous(this="stack", expressions=arguments))
    relation: Generate | Filter = Generate(scope.relation, stack, (key.unique, value.unique))
    if not pivot.args.get("include_nulls"):
        relation = Filter(relation, Scalar(exp.Not(this=exp.Is(this=col(value.unique).tree, expression=exp.Null()))))
    turned = {scalar.column for _, scalar in values}
    kept = tuple(c for c in scope.shown if c.unique not in turned)
    return Scope.of(relation, Named(pivot.alias, (*kept, key, value)))
