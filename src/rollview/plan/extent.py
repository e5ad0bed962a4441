"""What is stored for a view: the extent's rows, how they are matched, and how readers see them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra import facts
from rollview.algebra.relation import Aggregate, Filter, Generate, Project, Recursion, Relation, Scan, Window, keep
from rollview.algebra.scalar import Scalar, col
from rollview.algebra.walking import walk
from rollview.deltas.change_table import Update
from rollview.deltas.states import States, arguments_of, states_of
from rollview.frontend.normalise import pull_up_projections
from rollview.names import group_column, hidden_column, hidden_key, order_column
from rollview.plan.group_reserve import GROUP_SPARE, GroupReserve
from rollview.plan.reserve import PLACE, SPARE, FirstRows, Reserve, first_rows, spelled
from rollview.plan.stages import EXTENT

if TYPE_CHECKING:
    from rollview.algebra.schema import Schema, Tables
    from rollview.frontend.typing import Typer


class Kind(Enum):
    """How rows are kept and matched."""

    KEYED = "keyed"
    BAG = "bag"
    AGGREGATE = "aggregate"


@dataclass(frozen=True, slots=True)
class Extent:
    """`rows` computes the stored rows from the base tables; `reader` the view from the stored rows."""

    kind: Kind
    rows: Relation
    key: tuple[str, ...]
    reader: Relation
    aggregate: Aggregate | None = None
    states: States | None = None
    reserve: Reserve | None = None
    """if the first of some rows are stored, as `rows` tells when they are derived, and up to a bound afterwards"""
    group_reserve: GroupReserve | None = None
    """the same for the first rows of every group"""
    solid: frozenset[str] = frozenset()
    """columns of the key that are never NULL"""

    @property
    def followed(self) -> Relation:
        """The relation whose changes are followed."""
        reserve = self.reserve or self.group_reserve
        return self.rows if reserve is None else reserve.source

    @property
    def columns(self) -> tuple[str, ...]:
        return self.rows.names

    @property
    def layout(self) -> tuple[str, ...]:
        """What the stored rows are sorted by."""
        if self.group_reserve is not None and self.kind is Kind.BAG:
            return self.group_reserve.groups
        return self.key if self.kind is not Kind.BAG else ()

    @property
    def reads_all(self) -> bool:
        """Does what a reader sees of one stored row depend on the others?"""
        return any(isinstance(n, Window) for n in walk(self.reader))

    @property
    def repeats(self) -> bool:
        """May a reader see several rows of one stored row?"""
        return any(isinstance(n, Generate) for n in walk(self.reader))

    @property
    def visible_key(self) -> tuple[str, ...] | None:
        """The key that readers can see, if there is one and all of it is shown."""
        if self.kind is Kind.BAG or self.repeats or not isinstance(self.reader, Project):
            return None
        shown = {e.column: name for name, e in self.reader.columns}
        key = self.group_reserve.key if self.group_reserve is not None else self.key
        return tuple(shown[k] for k in key) if key and all(k in shown for k in key) else None

    @property
    def stored_names(self) -> dict[str, str]:
        """For rows: the stored column behind each that readers see."""
        assert self.states is None and isinstance(self.reader, Project)
        return {name: e.column or "" for name, e in self.reader.columns}

    @property
    def hidden(self) -> tuple[str, ...]:
        """Stored columns that no reader sees."""
        shown = {e.column for _, e in self.reader.columns} if isinstance(self.reader, Project) else set()
        return tuple(c for c in self.columns if c not in shown)


def extent_of(definition: Relation, output: Schema, tables: Tables, typer: Typer) -> Extent:
    """An aggregate at the top is stored as states; anything else as rows, by key where one is known.

    Of the first rows in an order some more are stored than are shown.
    """
    top = core(definition)
    if isinstance(top, Aggregate):
        found: Extent | None = aggregate_extent(top, definition, output, typer)
    else:
        first = first_rows(definition)
        found = first_rows_extent(first, output, tables, typer) if first is not None else None
    extent = found or rows_extent(definition, output, tables)
    return replace(extent, solid=facts.never_null(extent.rows, tables) & set(extent.key))


def holds(extent: Extent) -> bool:
    """Is a change of the extent one whatever else is stored? Not where rows are kept in reserve: it holds as long as
    the reserve's bound does."""
    return extent.followed is extent.rows


def adds_up(extent: Extent) -> bool:
    """Do changes of a group's states add up? If not, a change is the group's row as it was, and as it is."""
    return extent.states is None or all(s.update is Update.ADD for s in extent.states.all)


def core(node: Relation) -> Relation:
    """What is below everything that a reader can compute of an aggregate."""
    while isinstance(node, Project | Filter | Generate | Window):
        node = node.source
    return node


def columns_of(definition: Relation) -> tuple[tuple[str, Scalar], ...]:
    top = definition if isinstance(definition, Project) else keep(definition, definition.names)
    return top.columns


def stored_rounds(definition: Relation) -> Recursion | None:
    """The recursion that the view is: all of its rows and columns, under whatever names."""
    source = definition.source if isinstance(definition, Project) else definition
    shown = {e.column for _, e in columns_of(definition)}
    return source if isinstance(source, Recursion) and shown.issuperset(source.names) else None


def rows_extent(definition: Relation, output: Schema, tables: Tables) -> Extent:
    top = definition if isinstance(definition, Project) else keep(definition, definition.names)
    source = top.source
    named = tuple((c.name, e) for c, (_, e) in zip(output, top.columns, strict=True))
    found = facts.key(source, tables)
    columns = list(named)
    key: list[str] = []
    for k in found or ():
        shown = next((name for name, e in columns if e.column == k), None)
        if shown is None:
            shown = hidden_key(k)
            columns.append((shown, col(k)))
        key.append(shown)
    rows = Project(source, tuple(columns))
    reader = Project(stored(rows.names), tuple((name, col(name)) for name, _ in named))
    if found is None:
        return Extent(Kind.BAG, rows, rows.names, reader)
    return Extent(Kind.KEYED, rows, tuple(key), reader)


def first_rows_extent(first: FirstRows, output: Schema, tables: Tables, typer: Typer) -> Extent | None:
    """The rows below the window; its function, and what selects by it, are computed by the reader.

    None if a bound in their order cannot be written down. Rows of a group lie together.
    """
    if first.window.partition and not first.needed:
        return None
    source = first.window.source
    columns = StoredColumns(first.place)
    shown = tuple(
        (c.name, columns.over(e) if first.place in e.columns else columns.value(e, c.name))
        for c, (_, e) in zip(output, first.columns, strict=True)
    )
    order = tuple(columns.ordered(o, n) for n, o in enumerate(first.function.args["order"].expressions))
    by = [columns.value(e, group_column(n)) for n, e in enumerate(first.window.partition)]
    predicate = columns.over(first.predicate)
    found = facts.key(source, tables)
    key = tuple(str(columns.value(col(k), hidden_key(k)).column) for k in found or ())
    selected = facts.key(Filter(first.window, first.predicate), tables)
    shown_key = tuple(str(columns.value(col(k), hidden_key(k)).column) for k in selected or ())
    rows = Project(source, tuple(columns.all.items()))
    function = first.function.copy()
    function.set("order", exp.Order(expressions=list(order)))
    function.set("partition_by", [g.tree for g in by])
    numbered = Window(stored(rows.names), ((PLACE, Scalar(function)),))
    reader = Project(Filter(numbered, predicate), shown)
    kind = Kind.KEYED if found is not None else Kind.BAG
    if by:
        groups = tuple(str(g.column) for g in by)
        each = GroupReserve(rows, groups, order, first.needed, max(GROUP_SPARE, first.needed), shown_key)
        matched = tuple(dict.fromkeys((*groups, *key))) if found is not None else rows.names
        return Extent(kind, each.chosen(rows), matched, reader, group_reserve=each)
    types = {c.name: c.type for c in typer.relation(rows)}
    bounded = spelled(order, [types[o.this.name] for o in order])
    if not bounded:
        return None
    reserve = Reserve(rows, bounded, first.needed, max(SPARE, first.needed))
    return Extent(kind, reserve.chosen(rows), key if found is not None else rows.names, reader, reserve=reserve)


class StoredColumns:
    """The columns that are stored, each expression once; `place` is computed by the reader."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.all: dict[str, Scalar] = {}

    def value(self, expression: Scalar, name: str) -> Scalar:
        """The stored column that holds an expression, by the given name if it is a new one."""
        found = next((n for n, e in self.all.items() if e == expression), name)
        self.all[found] = expression
        return col(found)

    def over(self, expression: Scalar) -> Scalar:
        """An expression over what is stored."""
        read = {c: self.value(col(c), hidden_column(c)) for c in sorted(expression.columns - {self.place})}
        return expression.substitute({**read, self.place: col(PLACE)})

    def ordered(self, ordered: exp.Ordered, number: int) -> exp.Ordered:
        key = self.value(Scalar(ordered.this), order_column(number))
        return exp.Ordered(**{**ordered.args, "this": key.tree})


def aggregate_extent(node: Aggregate, definition: Relation, output: Schema, typer: Typer) -> Extent:
    """The states of the aggregate; what stands above it is computed by the reader, whatever it selects or repeats."""
    states = typed_states(node, typer)
    key = tuple(name for name, _ in node.keys)
    values = tuple((k, col(k)) for k in key) + states.outputs
    derived = Project(stored(states.initial(node).names), values)
    shown = tuple((c.name, col(n)) for c, n in zip(output, definition.names, strict=True))
    reader = pull_up_projections(Project(over(definition, node, derived), shown))
    return Extent(Kind.AGGREGATE, states.initial(node), key, reader, node, states)


def over(node: Relation, aggregate: Aggregate, rows: Relation) -> Relation:
    """What stands above the aggregate, over other rows of its form."""
    if node is aggregate:
        return rows
    assert isinstance(node, Project | Filter | Generate | Window)
    return replace(node, source=over(node.source, aggregate, rows))


def typed_states(node: Aggregate, typer: Typer) -> States:
    """The states of an aggregate, by the types that Spark gives its arguments and results."""
    arguments = arguments_of(node)
    argument_types = {c.name: c.type for c in typer.relation(Project(node.source, arguments))} if arguments else {}
    result_types = {c.name: c.type for c in typer.relation(node)}
    return states_of(node, argument_types, result_types)


def stored(columns: tuple[str, ...]) -> Scan:
    return Scan(EXTENT, tuple((c, c) for c in columns))
