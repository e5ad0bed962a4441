"""GROUP BY, HAVING and aggregate calls to an Aggregate with canonical measures.

FILTER becomes CASE inside the argument, COUNT(a, b) counts rows in which neither is NULL, and equal calls are
one measure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import Aggregate, Function, Measure, Project, Relation
from rollview.algebra.scalar import Scalar, col, operand
from rollview.frontend.refuse import bad, function_name, not_yet, place_of
from rollview.frontend.scalars import LARGEST, Scalars, has_aggregate, too_large
from rollview.frontend.scope import Allocator, Lowered, Scope, Visible, is_named, marked, name_of

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        self.keys.append((self.allocator.name(tree.name if isinstance(tree, exp.Column) else "k"), scalar))

    def aggregate(self) -> Aggregate:
        measures = tuple(self.measures.values())
        if not self.keys and not measures:  # HAVING alone: one group, of which nothing is asked
            measures = (Measure(self.allocator.name("count"), Function.COUNT),)
        return Aggregate(self.scope.relation, tuple(self.keys), measures, grouped=bool(self.keys))

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
        if (mark := marked(tree)) is not None:
            return mark.tree
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
        text = str(self.scalars.resolve(tree, self.scope))
        return next((col(name).tree for name, known in self.keys if str(known) == text), None)

    def measure(self, call: exp.AggFunc, condition: exp.Expr | None) -> Measure:
        function = FUNCTIONS.get(type(call))
        if function is None:
            raise not_yet(f"{function_name(call)}()", "RV-AGGREGATE", call)
        inner = call.this
        if isinstance(inner, exp.Distinct):
            raise not_yet(f"{function_name(call)}(DISTINCT …)", "RV-AGGREGATE-DISTINCT", call)
        if inner is None or (isinstance(inner, exp.Star) and function is not Function.COUNT):
            raise bad(
                f"{function_name(call)}() needs an argument", "RV-AGGREGATE-ARGUMENT", call, "only COUNT can take *"
            )
        if isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star):
            raise not_yet(f"{function_name(call)}({inner.table}.*)", "RV-AGGREGATE", call, "name the columns")
        arguments = [] if isinstance(inner, exp.Star) else [inner, *call.expressions]
        for argument in arguments:
            if has_aggregate(argument):
                raise bad(
                    "an aggregate cannot contain another",
                    "RV-AGGREGATE-NESTED",
                    call,
                    "put the inner one into a subquery",
                )
        argument = self.argument(arguments, condition)
        known = (function, "" if argument is None else str(argument))
        if known not in self.measures:
            named = isinstance(inner, exp.Column)
            name = self.allocator.name(f"{function.value}_{inner.name}" if named else function.value)
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


Having = Callable[[exp.Expr, Callable[[exp.Expr], Scalar]], list[Callable[[Relation], Relation]]]
"""A condition, and how to lower its expressions, to what must be done to the relation that it is put on."""


Mark = Callable[[exp.Expr, Callable[[exp.Expr], Scalar]], tuple[exp.Expr, list[Callable[[Relation], Relation]]]]
"""The same for an output: the expression with columns for its subqueries, and how the relation gets these columns."""


def lower_grouping(
    node: exp.Select, scope: Scope, scalars: Scalars, allocator: Allocator, restrict: Having, mark: Mark
) -> Lowered:
    grouping = Grouping(scope, scalars, allocator)
    items = select_items(node, scope)
    for tree in group_expressions(node.args.get("group"), items, scope):
        grouping.key(tree)
    steps: list[Callable[[Relation], Relation]] = []
    outputs = []
    for name, tree in items:
        rewritten, found = mark(tree, grouping.above)
        outputs.append((name, grouping.above(rewritten)))
        steps += found
    having = node.args.get("having")
    if having is not None:
        steps += restrict(aliases_replaced(having.this, dict(items), scope), grouping.above)
    relation: Relation = grouping.aggregate()
    for step in steps:
        relation = step(relation)
    named = [
        (Visible(name, allocator.name(name), is_named(item)), e)
        for item, (name, e) in zip(node.expressions, outputs, strict=True)
    ]
    return Lowered(Project(relation, tuple((v.unique, e) for v, e in named)), tuple(v for v, _ in named))


def select_items(node: exp.Select, scope: Scope) -> list[tuple[str, exp.Expr]]:
    """(name, expression) of each output; an alias may be used by the items that follow it."""
    result: list[tuple[str, exp.Expr]] = []
    aliases: dict[str, exp.Expr] = {}
    for item in node.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            raise bad("* cannot stand beside GROUP BY", "RV-NOT-GROUPED", item, "name the columns")
        tree = aliases_replaced(item.unalias(), aliases, scope)
        if Scalar(tree).size > LARGEST:
            raise too_large(item)
        result.append((name_of(item), tree))
        if isinstance(item, exp.Alias):
            aliases[item.alias] = tree
    return result


def group_expressions(group: exp.Group | None, items: list[tuple[str, exp.Expr]], scope: Scope) -> list[exp.Expr]:
    """What GROUP BY names: expressions, positions in the SELECT list, its aliases, or ALL that is no aggregate."""
    if group is None:
        return []
    for refused in ("grouping_sets", "cube", "rollup", "totals"):
        if group.args.get(refused):
            raise not_yet(refused.upper().replace("_", " "), "RV-GROUPING-SETS", group)
    if group.args.get("all"):
        return [tree for _, tree in items if not has_aggregate(tree)]
    if not group.expressions:
        raise bad("GROUP BY names nothing", "RV-SYNTAX", group, "list the columns to group by")
    result: list[exp.Expr] = []
    for tree in group.expressions:
        if isinstance(tree, exp.GroupingSets | exp.Cube | exp.Rollup):
            what = "GROUPING SETS" if isinstance(tree, exp.GroupingSets) else tree.key.upper()
            raise not_yet(what, "RV-GROUPING-SETS", tree)
        if isinstance(tree, exp.Tuple):
            raise not_yet("GROUP BY (…)", "RV-GROUPING-SETS", tree, "list the expressions without parentheses")
        if Scalar(tree).is_integer:
            tree = items[place_of(tree, len(items), "GROUP BY")][1]
        else:
            tree = aliases_replaced(tree, dict(items), scope)
        if has_aggregate(tree):
            raise bad(
                "GROUP BY cannot contain an aggregate",
                "RV-AGGREGATE-PLACE",
                tree,
                "aggregate in a subquery, and group its result",
            )
        result.append(tree)
    return result


def aliases_replaced(tree: exp.Expr, aliases: Mapping[str, exp.Expr], scope: Scope) -> exp.Expr:
    """The expression with SELECT aliases replaced by what they stand for; a real column of that name wins."""
    known = {name.lower(): body for name, body in aliases.items()}

    def replace(part: exp.Expr) -> exp.Expr:
        named = isinstance(part, exp.Column) and len(part.parts) == 1 and part.name.lower() in known
        if named and not scope.lookup(part.name, scope.items) and not part.find_ancestor(exp.Query):
            return operand(known[part.name.lower()])
        return part

    return tree.transform(replace).unnest()
