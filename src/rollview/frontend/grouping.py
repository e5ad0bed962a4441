"""GROUP BY and HAVING to an Aggregate with canonical measures; equal calls are one measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import Aggregate, Function, Measure, OuterJoin, Project, Relation
from rollview.algebra.scalar import Scalar, col, conjunction, equal, literal, operand
from rollview.frontend.aggregates import aggregate_call, lower_call, or_else, over_nothing, put_in_order
from rollview.frontend.grouping_sets import grouping, masked, repeated, sets_of, unit
from rollview.frontend.refuse import bad, not_yet, place_of
from rollview.frontend.scalars import LARGEST, Scalars, found_in, has_aggregate, is_aggregate, too_large
from rollview.frontend.scope import Allocator, Lowered, Named, Scope, Visible, fields, is_named, marked, name_of

if TYPE_CHECKING:
    from rollview.algebra.call import Call
    from rollview.algebra.schema import Tables

NONE: Mapping[str, exp.Expr] = {"zero": exp.Literal.number(0), "empty": exp.Array(expressions=[])}
"""what some measures are over no rows"""


class Grouping:
    """One grouped SELECT: its keys, the measures met so far, and how expressions above read them."""

    def __init__(self, scope: Scope, scalars: Scalars, allocator: Allocator, tables: Tables) -> None:
        self.scope = scope
        self.scalars = scalars
        self.tables = tables
        self.allocator = allocator
        self.keys: list[tuple[str, Scalar]] = []
        self.sets: list[set[str]] | None = None
        """the names of the keys in each grouping set, if there are several"""
        self.set_number = self.set_of_row = ""
        self.known: tuple[str, ...] = ()
        """the keys of a dependent query, as the groups have them"""
        self.over_nothing = False
        """may a group have no rows?"""
        self.measures: dict[tuple[Function, str], Measure] = {}

    def key(self, tree: exp.Expr) -> str:
        scalar = self.scalars.lower(tree, self.scope)
        return self.add_key(scalar, tree.name if isinstance(tree, exp.Column) else "k")

    def grouping_sets(self, sets: list[list[exp.Expr]]) -> None:
        self.sets = [{self.key(tree) for tree in found} for found in sets]
        self.set_of_row, self.set_number = (self.allocator.name("grouping_set") for _ in range(2))

    def within(self, keys: tuple[str, ...]) -> None:
        """Groups of a dependent query lie within the keys."""
        self.over_nothing = bool(keys) and self.sets is None and not self.keys
        self.known = tuple(self.add_key(col(k)) for k in keys)
        for names in self.sets or ():
            names.update(self.known)

    def add_key(self, scalar: Scalar, stem: str = "k") -> str:
        """The name of the key; an expression is a key only once."""
        for name, known in self.keys:
            if str(scalar) == str(known):
                return name
        self.keys.append((self.allocator.name(stem), scalar))
        return self.keys[-1][0]

    def aggregate(self, node: exp.Expr | None = None) -> Aggregate:
        """The groups. Those of a subquery (`node`) may not aggregate columns of the query around it."""
        for measure in self.measures.values():
            if measure.argument is not None and not measure.argument.columns <= set(self.scope.relation.names):
                raise not_yet("an aggregate over columns of the query around it", "RV-SUBQUERY", node)
        measures = tuple(self.measures.values())
        if not self.keys and not measures:  # HAVING alone: one group, of which nothing is asked
            measures = (Measure(self.allocator.name("count"), Function.COUNT),)
        if self.sets is None:
            return Aggregate(self.scope.relation, tuple(self.keys), measures, grouped=bool(self.keys))
        total, number = len(self.sets), self.set_of_row
        keys = [(name, masked(e, self.sets_with(name), total, number)) for name, e in self.keys]
        source = repeated(self.scope.relation, total, number)
        return Aggregate(source, (*keys, (self.set_number, col(number))), measures)

    def sets_with(self, key: str) -> list[int]:
        return [n for n, found in enumerate(self.sets or ()) if key in found]

    def grouping(self, tree: exp.Expr, call: Call) -> exp.Expr:
        """GROUPING and GROUPING_ID of some keys; without any, of all."""
        if self.sets is None:
            raise bad(
                f"{call.name}() needs GROUPING SETS, ROLLUP or CUBE", "RV-GROUPING-SETS", tree, "GROUP BY ROLLUP (…)"
            )
        named = [self.as_key(a) for a in call.arguments]
        if None in named or (call.name == "grouping" and len(named) != 1):
            hint = f"keys: {', '.join(name for name, _ in self.keys)}"
            raise bad(f"{call.name}() takes what GROUP BY names", "RV-GROUPING-SETS", tree, hint)
        keys = [k.name for k in named if k is not None] or [name for name, _ in self.keys]
        return grouping([self.sets_with(k) for k in keys], self.set_number, call, len(self.sets))

    def above(self, tree: exp.Expr) -> Scalar:
        """An expression over keys and measures."""
        found = Scalar(self.replace(tree))
        return self.without_rows(found, tree) if self.over_nothing else found

    def without_rows(self, value: Scalar, tree: exp.Expr) -> Scalar:
        """The expression where a group without rows has NULL for every measure."""
        met = [m for m in self.measures.values() if m.name in value.columns]
        if any(over_nothing(m) == "something" for m in met):
            raise not_yet("an aggregate that is not NULL over no rows, in a correlated subquery", "RV-SUBQUERY", tree)
        return value.substitute({m.name: or_else(m.name, NONE[n]) for m in met if (n := over_nothing(m)) in NONE})

    def groups(self) -> Relation:
        """All groups; of a dependent query without GROUP BY one for each value of its keys, also without rows."""
        found = self.aggregate()
        if not self.over_nothing or self.scope.known is None:
            return found
        values, names = self.scope.known()
        tests = [equal(col(v), col(k)) for v, k in zip(names, self.known, strict=True)]
        self.known = names
        return OuterJoin(values, found, conjunction(tests) or literal(True))

    def replace(self, tree: exp.Expr) -> exp.Expr:
        tree = put_in_order(tree)
        call = aggregate_call(tree)
        if call is not None and call.name in ("grouping", "grouping_id"):
            return self.grouping(tree, call)
        if call is not None:
            return lower_call(self, tree, call)
        if not has_aggregate(tree):
            as_key = self.as_key(tree)
            if as_key is None and isinstance(tree, exp.Column):
                as_key = self.field_of_key(tree)
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

    def field_of_key(self, tree: exp.Column) -> exp.Expr | None:
        """k.f, where k is a struct by which the rows are grouped."""
        if marked(tree) is not None:
            return None
        struct = self.scope.resolve(tree).tree
        path: list[str] = []
        while isinstance(struct, exp.Dot):
            path.insert(0, struct.expression.name)
            struct = struct.this
            for name, known in self.keys:
                if str(known) == str(Scalar(struct)):
                    return fields(col(name), path).tree
        return None

    def measure(self, function: Function, argument: Scalar | None, stem: str = "") -> Measure:
        """Equal calls are one measure."""
        known = (function, "" if argument is None else str(argument))
        if known not in self.measures:
            self.measures[known] = Measure(self.allocator.name(stem or function.value), function, argument)
        return self.measures[known]


Having = Callable[[exp.Expr, Callable[[exp.Expr], Scalar], Scope], list[Callable[[Relation], Relation]]]
"""A condition, how to lower its expressions, and the rows that it is put on, to what must be done to these."""


Marked = tuple[exp.Expr, list[Callable[[Relation], Relation]]]
"""An expression with columns for its subqueries, and how the relation gets these columns."""
Mark = Callable[[exp.Expr, Callable[[exp.Expr], Scalar], Scope | None], Marked]
"""Makes it of an expression, of how its parts are lowered, and of the rows that it is put on, if they are known."""


class Below:
    """Subqueries in what is grouped by, and inside aggregates, are columns of the rows that are grouped."""

    def __init__(self, scope: Scope, lower: Callable[[exp.Expr], Scalar], mark: Mark) -> None:
        self.scope = scope
        self.lower = lower
        self.mark = mark
        self.keys: list[tuple[exp.Expr, exp.Expr]] = []

    def column(self, tree: exp.Expr) -> exp.Expr:
        rewritten, steps = self.mark(exp.Alias(this=tree.copy()), self.lower, self.scope)
        for step in steps:
            self.scope.relation = step(self.scope.relation)
        made: exp.Expr = rewritten.this
        return made

    def key(self, tree: exp.Expr) -> exp.Expr:
        if not found_in(tree):
            return tree
        known = next((column for key, column in self.keys if key == tree), None)
        if known is None:
            self.keys.append((tree, known := self.column(tree)))
        return known

    def put(self, tree: exp.Expr) -> exp.Expr:
        """An expression over the groups, with these columns in it."""
        if not found_in(tree):
            return tree

        def replace(node: exp.Expr) -> exp.Expr:
            known = next((column for key, column in self.keys if key == node), None)
            if known is not None:
                return known.copy()
            if isinstance(node, exp.Filter) and found_in(test := node.expression.this):
                test.replace(self.column(test))
            if is_aggregate(node):
                for argument in list(node.iter_expressions()):
                    if found_in(argument):
                        argument.replace(self.column(argument))
            return node

        return tree.transform(replace)


def lower_grouping(
    node: exp.Select,
    scope: Scope,
    scalars: Scalars,
    allocator: Allocator,
    tables: Tables,
    restrict: Having,
    mark: Mark,
) -> Lowered:
    grouped = Grouping(scope, scalars, allocator, tables)
    items = select_items(node, scope)
    group = node.args.get("group")
    sets = sets_of(group) if group is not None and not group.args.get("all") else None
    below = Below(scope, lambda part: scalars.lower(part, scope), mark)
    if sets is None:
        for tree in group_expressions(group, items, scope):
            grouped.key(below.key(tree))
    else:
        named_sets = [[group_expression(tree, items, scope) for tree in found] for found in sets]
        grouped.grouping_sets([[below.key(tree) for tree in found] for found in named_sets])
    items = [(name, below.put(tree)) for name, tree in items]
    grouped.within(scope.keys)
    steps: list[Callable[[Relation], Relation]] = []
    outputs = []
    for name, tree in items:
        rewritten, found = mark(tree, grouped.above, None)
        outputs.append((name, grouped.above(rewritten)))
        steps += found
    having, condition = node.args.get("having"), None
    if having is not None:
        condition = below.put(aliases_replaced(having.this, dict(items), scope, grouped))
        for call in condition.walk(prune=lambda n: isinstance(n, exp.Query) or aggregate_call(n) is not None):
            if aggregate_call(call) is not None:
                grouped.above(call)  # it is a measure before the groups are made
    relation = grouped.groups()
    for step in steps:
        relation = step(relation)
    if condition is not None:
        for step in restrict(condition, grouped.above, Scope.of(relation, Named("", ()))):
            relation = step(relation)
    named = [
        (Visible(name, allocator.name(name), is_named(item)), e)
        for item, (name, e) in zip(node.expressions, outputs, strict=True)
    ]
    keys = tuple((k, col(k)) for k in grouped.known)
    shown = Project(relation, (*((v.unique, e) for v, e in named), *keys))
    return Lowered(shown, tuple(v for v, _ in named), grouped.known)


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
    if group.args.get("totals"):
        raise not_yet("WITH TOTALS", "RV-GROUPING-SETS", group)
    if group.args.get("all") and group.expressions:
        raise bad("GROUP BY ALL stands alone", "RV-SYNTAX", group, "ALL, or a list of columns")
    if group.args.get("all"):
        return [tree for _, tree in items if not has_aggregate(tree)]
    if not group.expressions:
        raise bad("GROUP BY names nothing", "RV-SYNTAX", group, "list the columns to group by")
    return [group_expression(tree, items, scope) for part in group.expressions for tree in unit(part)]


def group_expression(tree: exp.Expr, items: list[tuple[str, exp.Expr]], scope: Scope) -> exp.Expr:
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
    return tree


def aliases_replaced(
    tree: exp.Expr, aliases: Mapping[str, exp.Expr], scope: Scope, grouped: Grouping | None = None
) -> exp.Expr:
    """The expression with SELECT aliases replaced by what they stand for; a real column of that name wins. Over groups
    only if it has a meaning there: as a key, or inside an aggregate."""
    known = {name.lower(): body for name, body in aliases.items()}

    def wins(part: exp.Column) -> bool:
        found = bool(scope.lookup(part.name, scope.items))
        return found and (grouped is None or is_inside_aggregate(part) or grouped.as_key(part) is not None)

    def replace(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, exp.Column) or len(part.parts) > 1 or part.name.lower() not in known:
            return part
        return part if part.find_ancestor(exp.Query) or wins(part) else operand(known[part.name.lower()])

    found = tree.transform(replace)
    return found if isinstance(found, exp.Subquery) else found.unnest()


def is_inside_aggregate(node: exp.Expr) -> bool:
    above = node.parent
    while above is not None and not is_aggregate(above):
        above = above.parent
    return above is not None
