"""Which part of a view's stored data answers another query.

Two relations have the same rows if they are built alike from the same scans, whatever their columns are called; a
column is what it is computed from. So every relation gets a form: a number for its rows, the same for bags of rows that
come about in the same way, and a number for each column. Projections only choose columns, joins and filters that lie
together are a set, and a column that nobody uses is not part of the form.

Law: if the extents of Q and Q′ have rows of one form, and every column that Q′'s reader uses is a column of Q's extent,
then Q′ = reader′(extent of Q), at every tick.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING, assert_never

from rollview.algebra.block import flatten
from rollview.algebra.relation import (
    Aggregate,
    AntiJoin,
    Filter,
    Generate,
    Join,
    MarkJoin,
    OuterJoin,
    Project,
    Recall,
    Recursion,
    Relation,
    Scan,
    SemiJoin,
    UnionAll,
    Values,
    Window,
    keep,
)
from rollview.algebra.scalar import Scalar, col, conjuncts
from rollview.algebra.walking import scans, walk
from rollview.frontend.normalise import prune_columns, pull_up_projections
from rollview.plan.extent import stored
from rollview.plan.visible import read

if TYPE_CHECKING:
    from rollview.plan.compile import CompiledView
    from rollview.plan.extent import Extent


class Stays(Enum):
    """What of a view stays when its query is replaced."""

    ALL = "all"
    """the query means the same"""
    ROWS = "rows"
    """what is stored; readers see something else of it"""
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Redefined:
    """What stays, and the new view over it; over an extent of its own if nothing does."""

    stays: Stays
    view: CompiledView


def redefined(old: CompiledView, new: CompiledView) -> Redefined:
    """What of the old view's stored data the new one can keep."""
    kept = answered(new, old.extent)
    if kept is None:
        return Redefined(Stays.NOTHING, new)
    numbers = Numbers()
    was, now = (shown(read(v.extent.reader, old.extent.rows), numbers) for v in (old, kept))
    same = was == now and [(c.name, c.type) for c in old.output] == [(c.name, c.type) for c in new.output]
    return Redefined(Stays.ALL if same else Stays.ROWS, kept)


def stored_alike(one: CompiledView, other: CompiledView) -> bool:
    """Do two views store the same columns under the same names, and show the same of them?"""
    numbers = Numbers()
    here, there = (form(v.extent.rows, numbers) for v in (one, other))
    same = (one.extent.kind, one.extent.key) == (other.extent.kind, other.extent.key) and here == there
    return same and redefined(one, other).stays is Stays.ALL


def answered(view: CompiledView, extent: Extent) -> CompiledView | None:
    """The view as a reader of the rows of another extent; None if nothing shows that it is one."""
    numbers = Numbers()
    wanted, there = form(view.extent.rows, numbers), form(extent.rows, numbers)
    if (view.extent.states is None) is not (extent.states is None) or wanted.rows != there.rows:
        return None
    reader = prune_columns(view.extent.reader)
    made = {name for n in walk(reader) if isinstance(n, Window | Generate) for name in n.names} - set(
        view.extent.columns
    )
    if made & set(extent.columns):
        return None  # by its name a column of the reader would be taken for a stored one
    used = [name for scan in scans(reader) for name, _ in scan.columns]
    found = {number: name for name, number in there.columns.items()}
    if any(wanted.columns[name] not in found for name in used):
        return None
    source = Project(stored(extent.columns), tuple((n, col(found[wanted.columns[n]])) for n in used))
    over = pull_up_projections(read(reader, source))
    reader = over if isinstance(over, Project) else keep(over, over.names)
    kept = replace(extent, reader=reader)
    return replace(view, definition=read(reader, extent.rows), extent=kept)


# --- forms --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Numbers:
    """Equal things have equal numbers."""

    known: dict[Hashable, str] = field(default_factory=dict)

    def of(self, *thing: Hashable) -> str:
        return self.known.setdefault(thing, f"n{len(self.known)}")


@dataclass(frozen=True, slots=True)
class Form:
    """The number of a relation's rows, and those of its columns by name."""

    rows: str
    columns: Mapping[str, str]

    def text(self, expression: Scalar) -> str:
        """The expression over the numbers of its columns."""
        numbered = expression.substitute({name: col(number) for name, number in self.columns.items()})
        return numbered.tree.sql("spark", comments=False)

    def all(self, expressions: Iterable[Scalar]) -> frozenset[str]:
        return frozenset(self.text(e) for e in expressions)


def shown(node: Relation, numbers: Numbers) -> tuple[str, list[str]]:
    """Rows and columns as a reader sees them, by place."""
    found = form(node, numbers)
    return found.rows, [found.columns[n] for n in node.names]


def form(node: Relation, numbers: Numbers) -> Form:
    """The form of a relation. Scans, marks and the like are told apart by their places in it."""
    places = count()

    def joined(left: Form, right: Form) -> Form:
        return Form("", {**left.columns, **right.columns})

    def visit(n: Relation) -> Form:
        match n:
            case Scan():
                at = numbers.of("scan", n.table, next(places))
                return Form(at, {name: numbers.of(at, column) for column, name in n.columns})
            case Project():
                source = visit(n.source)
                return Form(source.rows, {name: column(source, e) for name, e in n.columns})
            case Filter() | Join():
                block = flatten(n)
                inputs = [visit(i) for i in sorted(block.inputs, key=lambda i: sorted(s.table for s in scans(i)))]
                whole = Form("", {name: number for i in inputs for name, number in i.columns.items()})
                rows = numbers.of("block", tuple(i.rows for i in inputs), whole.all(block.conjuncts))
                return Form(rows, whole.columns)
            case SemiJoin() | AntiJoin() | MarkJoin():
                left, right = visit(n.left), visit(n.right)
                tests = joined(left, right).all(conjuncts(n.predicate))
                rows = numbers.of(type(n).__name__, left.rows, right.rows, tests)
                if isinstance(n, MarkJoin):
                    return Form(left.rows, {**left.columns, n.mark: rows})
                return Form(rows, left.columns)
            case OuterJoin():
                left, right = visit(n.left), visit(n.right)
                tests = joined(left, right).all(conjuncts(n.predicate))
                rows = numbers.of("outer", n.keeps_left, n.keeps_right, left.rows, right.rows, tests)
                sides = ((left, n.keeps_right), (right, n.keeps_left))
                columns = {
                    name: numbers.of("padded", rows, number) if padded else number
                    for side, padded in sides
                    for name, number in side.columns.items()
                }
                return Form(rows, columns)
            case UnionAll():
                inputs = [visit(i) for i in n.inputs]
                rows = numbers.of("union", tuple(i.rows for i in inputs), next(places))
                columns = {}
                for place, name in enumerate(n.columns):
                    parts = tuple(f.columns[i.names[place]] for f, i in zip(inputs, n.inputs, strict=True))
                    columns[name] = numbers.of(rows, parts or place)
                return Form(rows, columns)
            case Recall():
                rows = numbers.of("recall", n.of)
                return Form(rows, {name: numbers.of(rows, c) for c, name in n.columns})
            case Recursion():
                anchor, step = visit(n.source), visit(n.step)
                shown = (tuple(anchor.columns[c] for c in n.source.names), tuple(step.columns[c] for c in n.step.names))
                rows = numbers.of("rounds", anchor.rows, step.rows, shown, n.limit, next(places))
                return Form(rows, {name: numbers.of(rows, place) for place, name in enumerate(n.columns)})
            case Values():
                rows = numbers.of("values", len(n.rows), next(places))
                values = {name: tuple(str(row[i]) for row in n.rows) for i, name in enumerate(n.columns)}
                return Form(rows, {name: numbers.of(rows, value) for name, value in values.items()})
            case Generate():
                source = visit(n.source)
                rows = numbers.of("generate", source.rows, source.text(n.generator), n.outer, next(places))
                made = {name: numbers.of(rows, place) for place, name in enumerate(n.columns)}
                return Form(rows, {**source.columns, **made})
            case Window():
                source = visit(n.source)
                made = {name: numbers.of("window", source.rows, source.text(e)) for name, e in n.columns}
                return Form(source.rows, {**source.columns, **made})
            case Aggregate():
                source = visit(n.source)
                keys = {name: column(source, e) for name, e in n.keys}
                rows = numbers.of("groups", source.rows, frozenset(keys.values()), n.grouped, next(places))
                measures = {
                    m.name: numbers.of(rows, m.function, "" if m.argument is None else source.text(m.argument))
                    for m in n.measures
                }
                return Form(rows, {**{name: numbers.of(rows, "key", k) for name, k in keys.items()}, **measures})
        assert_never(n)

    def column(source: Form, expression: Scalar) -> str:
        """A column that is nothing but another is that one."""
        return source.columns.get(expression.column or "") or numbers.of("expression", source.text(expression))

    return visit(node)
