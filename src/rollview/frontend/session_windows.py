"""session_window(t, gap): the rows of a group whose spans (t, t + gap) overlap, one after the other, are one session.

Said by windows: a row begins a session if no earlier row of its group reaches as far as it; the session of a row is the
last one that has begun. So a change concerns the rows of its group, as with every window function. A session is grouped
by its beginning, and ends with the last of its spans.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import Filter, Project, Relation, Window
from rollview.algebra.scalar import Scalar, col
from rollview.frontend.grouping import group_expressions, select_items
from rollview.frontend.refuse import bad, not_yet
from rollview.frontend.scope import Scope, mark_column
from rollview.frontend.time_windows import INSTANT, calls_in, is_call, the_one

if TYPE_CHECKING:
    from rollview.frontend.lower import Lowering

SESSION = "session_window"


def sessions_opened(lowering: Lowering, node: exp.Select, scope: Scope) -> exp.Select:
    """The SELECT grouped by the beginnings of its sessions, which the rows of the scope get as a column."""
    calls = list(calls_in(node, SESSION))
    if not calls:
        return node
    call, keys = the_one(lowering, calls, scope), grouped_by(node, scope)
    if not any(is_session(tree) for tree in keys):
        raise not_yet("a session that nothing is grouped by", "RV-GENERATOR", calls[0], "GROUP BY session_window(…)")
    if len(calls[0].expressions) != 2:
        hint = "session_window(t, '5 minutes')"
        raise bad("session_window() takes a time and a gap", "RV-GENERATOR", calls[0], hint)
    partition = [lowering.scalars.lower(tree, scope) for tree in keys if not is_session(tree)]
    session = begun(lowering, call, scope, [*partition, *map(col, scope.keys)])
    copy = node.copy()
    copy.set("group", exp.Group(expressions=[session.start if is_session(k) else k.copy() for k in keys]))
    for place in ("expressions", "having"):
        parts = copy.args.get(place)
        if isinstance(parts, list):
            copy.set(place, [session.item(tree, scope) for tree in parts])
        elif parts is not None:
            copy.set(place, session.put(parts, scope))
    return copy


@dataclass(frozen=True, slots=True)
class Session:
    """A session in a grouped SELECT."""

    begin: str
    until: str

    @property
    def start(self) -> exp.Expr:
        return mark_column(self.begin)

    @property
    def end(self) -> exp.Expr:
        return exp.Anonymous(this="max", expressions=[mark_column(self.until)])

    @property
    def whole(self) -> exp.Expr:
        parts = [exp.Literal.string("start"), self.start, exp.Literal.string("end"), self.end]
        return exp.Anonymous(this="named_struct", expressions=parts)

    def item(self, tree: exp.Expr, scope: Scope) -> exp.Expr:
        """One item of the SELECT list, under the name that Spark gives it."""
        found = self.put(tree, scope)
        if found == tree or isinstance(tree, exp.Alias):
            return found
        name = tree.output_name if isinstance(tree, exp.Column | exp.Dot) else SESSION if is_session(tree) else ""
        return exp.alias_(found, name, quoted=True) if name else found

    def put(self, tree: exp.Expr, scope: Scope) -> exp.Expr:
        """The expression with what the session is in the place of its call, and of its name."""

        def replace(node: exp.Expr) -> exp.Expr:
            if is_session(node):
                return self.whole
            if isinstance(node, exp.Dot) and is_session(node.this):
                return self.part(node.expression.name) or node
            parts = [p.name.lower() for p in node.parts] if isinstance(node, exp.Column) else []
            if not parts or parts[0] != SESSION or scope.lookup(SESSION, scope.items):
                return node
            return (self.whole if len(parts) == 1 else self.part(parts[1])) or node

        return tree.transform(replace)

    def part(self, name: str) -> exp.Expr | None:
        return {"start": self.start, "end": self.end}.get(name.lower())


def grouped_by(node: exp.Select, scope: Scope) -> list[exp.Expr]:
    group = node.args.get("group")
    if group is None:
        return []
    return group_expressions(group, select_items(node, scope), scope)


def is_session(tree: exp.Expr) -> bool:
    return is_call(tree, SESSION)


def begun(lowering: Lowering, call: Scalar, scope: Scope, partition: list[Scalar]) -> Session:
    """The rows with the beginning of their session, and the end of their own span."""
    new = lowering.allocator.name
    moment, until, reached, begin = (new(n) for n in ("moment", "until", "reached", "begin"))
    time, gap = call.tree.expressions
    (column,) = lowering.typer.relation(Project(scope.relation, ((moment, Scalar(time)),)))
    if not column.type.startswith("timestamp"):
        time = exp.cast(time, "timestamp", dialect="spark")
    ends = exp.Add(this=exp.Paren(this=time.copy()), expression=exp.cast(gap.copy(), "interval", dialect="spark"))
    kept = tuple((n, col(n)) for n in scope.relation.names)
    relation: Relation = Project(scope.relation, (*kept, (moment, Scalar(time)), (until, Scalar(ends))))
    relation = Filter(relation, Scalar(exp.GT(this=col(until).tree, expression=col(moment).tree)))
    furthest = Scalar(over(maximum(col(until).tree), partition, moment, INSTANT))
    relation = Window(relation, ((reached, furthest),))
    begins = exp.Or(
        this=exp.Is(this=col(reached).tree, expression=exp.Null()),
        expression=exp.GT(this=col(moment).tree, expression=col(reached).tree),
    )
    last = maximum(exp.Case().when(begins, col(moment).tree))
    scope.relation = Window(relation, ((begin, Scalar(over(last, partition, moment))),))
    return Session(begin, until)


def maximum(tree: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="max", expressions=[tree])


def over(call: exp.Expr, partition: list[Scalar], order: str, before: exp.Expr | None = None) -> exp.Window:
    """The call over the rows up to the same moment, or up to so long before it."""
    end = {"end": "CURRENT ROW"} if before is None else {"end": before.copy(), "end_side": "PRECEDING"}
    return exp.Window(
        this=call,
        over="OVER",
        partition_by=[k.tree.copy() for k in partition],
        order=exp.Order(expressions=[exp.Ordered(this=col(order).tree)]),
        spec=exp.WindowSpec(kind="RANGE", start="UNBOUNDED", start_side="PRECEDING", **end),
    )
