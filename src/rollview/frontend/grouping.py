"""GROUP BY, HAVING and aggregate calls to an Aggregate with canonical measures.

FILTER becomes CASE inside the argument, COUNT(a, b) counts rows in which neither is NULL, and equal calls are
one measure.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.algebra.relation import Aggregate, Filter, Function, Measure, Project, Relation
from rollview.algebra.scalar import Scalar, col
from rollview.frontend.refuse import bad, function_name, not_yet
from rollview.frontend.scalars import Scalars, has_aggregate
from rollview.frontend.scope import Allocator, Lowered, Scope, Visible

FUNCTIONS: dict[type[exp.Expr], Function] = {
    exp.Count: Function.COUNT,
    exp.Sum: Function.SUM,
    exp.Avg: Function.AVG,
}


class Grouping:
    """One grouped SELECT: its keys, the measures met so far, and how expressions above read them."""

    def __init__(self, scope: Scope, scalars: Scalars, allocator: Allocator) -> None:
        self.scope = scope
        self.scalars = scalars
        self.allocator = allocator
        self.keys: list[tuple[str, Scalar]] = []
        self.measures: dict[tuple[Function, str], Measure] = {}

    def key(self, tree: exp.Expr) -> None:
        scalar = self.scalars.lower(tree, self.scope)
        if any(str(scalar) == str(known) for _, known in self.keys):
            return
        self.keys.append((self.allocator.name(tree.alias_or_name or "k"), scalar))

    def above(self, tree: exp.Expr) -> Scalar:
        """An expression over keys and measures."""
        return Scalar(self.replace(tree))

    def replace(self, tree: exp.Expr) -> exp.Expr:
        filtered = isinstance(tree, exp.Filter)
        call = tree.this if filtered else tree
        if isinstance(call, exp.AggFunc):
            condition = tree.args["expression"].this if filtered else None
            return col(self.measure(call, condition).name).tree
        if not has_aggregate(tree):
            as_key = self.as_key(tree)
            if as_key is not None:
                return as_key
        if isinstance(tree, exp.Column):
            raise bad(
                f"the column {tree.name!r} is neither grouped nor aggregated",
                "RV-NOT-GROUPED",
                tree,
                "add it to GROUP BY or put it into an aggregate",
            )
        self.scalars.check_node(tree)
        copy = tree.copy()
        for name, value in tree.args.items():
            if isinstance(value, exp.Expr):
                copy.set(name, self.replace(value))
            elif isinstance(value, list):
                copy.set(name, [self.replace(v) if isinstance(v, exp.Expr) else v for v in value])
        return copy

    def as_key(self, tree: exp.Expr) -> exp.Expr | None:
        if isinstance(tree, exp.Literal | exp.Null | exp.Boolean | exp.DataType | exp.Identifier | exp.Var):
            return None
        try:
            text = str(self.scalars.resolve(tree, self.scope))
        except Exception:  # not an expression over the FROM columns: then it is no key
            return None
        return next((col(name).tree for name, known in self.keys if str(known) == text), None)

    def measure(self, call: exp.AggFunc, condition: exp.Expr | None) -> Measure:
        function = FUNCTIONS.get(type(call))
        if function is None:
            raise not_yet(f"{function_name(call)}()", "RV-AGGREGATE", call)
        inner = call.this
        if isinstance(inner, exp.Distinct):
            raise not_yet(f"{function_name(call)}(DISTINCT …)", "RV-AGGREGATE-DISTINCT", call)
        arguments = [] if isinstance(inner, exp.Star) else [inner, *call.expressions]
        for argument in arguments:
            if has_aggregate(argument):
                raise bad("an aggregate cannot contain another", "RV-AGGREGATE-NESTED", call)
        argument = self.argument(arguments, condition)
        known = (function, "" if argument is None else str(argument))
        if known not in self.measures:
            name = self.allocator.name(
                f"{function.value}_{inner.alias_or_name}".strip("_*") or function.value
            )
            self.measures[known] = Measure(name, function, argument)
        return self.measures[known]

    def argument(self, arguments: list[exp.Expr], condition: exp.Expr | None) -> Scalar | None:
        """The one argument whose non-NULL values the measure takes; None counts every row."""
        resolved = [self.scalars.lower(a, self.scope).tree for a in arguments]
        tests: list[exp.Expr] = [
            exp.Not(this=exp.Is(this=exp.Paren(this=a), expression=exp.Null())) for a in resolved[:-1]
        ]
        if condition is not None:
            tests.append(exp.Paren(this=self.scalars.lower(condition, self.scope).tree))
        value = resolved[-1] if resolved else exp.Literal.number(1)
        if not tests:
            return Scalar(value) if resolved else None
        return Scalar(exp.Case().when(exp.and_(*tests), value))


def lower_grouping(node: exp.Select, scope: Scope, scalars: Scalars, allocator: Allocator) -> Lowered:
    grouping = Grouping(scope, scalars, allocator)
    group = node.args.get("group")
    if group is not None:
        for refused in ("grouping_sets", "cube", "rollup", "totals"):
            if group.args.get(refused):
                raise not_yet(refused.upper().replace("_", " "), "RV-GROUPING-SETS", group)
        for tree in group_expressions(node, group, scope):
            grouping.key(tree)
    columns: list[tuple[Visible, Scalar]] = []
    for item in node.expressions:
        if isinstance(item, exp.Star) or (
            isinstance(item.args.get("this"), exp.Star) and isinstance(item, exp.Column)
        ):
            raise bad("* cannot stand beside GROUP BY", "RV-NOT-GROUPED", item, "name the columns")
        body = item.unalias() if isinstance(item, exp.Alias) else item
        name = item.alias_or_name or "c"
        columns.append((Visible(name, ""), grouping.above(body)))
    having = node.args.get("having")
    predicate = None
    if having is not None:
        predicate = grouping.above(aliases_replaced(having.this, node, scope))
    relation: Relation = Aggregate(
        scope.relation, tuple(grouping.keys), tuple(grouping.measures.values()), grouped=group is not None
    )
    if predicate is not None:
        relation = Filter(relation, predicate)
    named = [(Visible(v.name, allocator.name(v.name)), e) for v, e in columns]
    return Lowered(Project(relation, tuple((v.unique, e) for v, e in named)), tuple(v for v, _ in named))


def group_expressions(node: exp.Select, group: exp.Group, scope: Scope) -> list[exp.Expr]:
    items = [e.unalias() if isinstance(e, exp.Alias) else e for e in node.expressions]
    if group.args.get("all"):
        return [i for i in items if not has_aggregate(i)]
    result: list[exp.Expr] = []
    for tree in group.expressions:
        if Scalar(tree).is_integer:
            text = tree.unnest().sql("spark")
            place = int(text) if text.isdigit() else 0
            if not 1 <= place <= len(items):
                raise bad(f"GROUP BY position {text} is not in the SELECT list", "RV-GROUP-POSITION", tree)
            tree = items[place - 1]
        else:
            tree = aliases_replaced(tree, node, scope)
        if has_aggregate(tree):
            raise bad("GROUP BY cannot contain an aggregate", "RV-AGGREGATE-PLACE", tree)
        result.append(tree)
    return result


def aliases_replaced(tree: exp.Expr, node: exp.Select, scope: Scope) -> exp.Expr:
    """SELECT aliases used in GROUP BY or HAVING; a real column of that name wins."""
    aliases = {e.alias.lower(): e.unalias() for e in node.expressions if isinstance(e, exp.Alias)}

    def replace(part: exp.Expr) -> exp.Expr:
        named = isinstance(part, exp.Column) and len(part.parts) == 1 and part.name.lower() in aliases
        if named and not scope.lookup(part.name, scope.items):
            return exp.Paren(this=aliases[part.name.lower()].copy())
        return part

    replaced = tree.copy().transform(replace)
    return replaced.unnest() if isinstance(replaced, exp.Paren) else replaced
