"""What readers of a view see change when its extent changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import (
    Aggregate,
    AntiJoin,
    Filter,
    Function,
    Generate,
    Join,
    Measure,
    Project,
    Relation,
    Scan,
    SemiJoin,
    State,
    UnionAll,
    Window,
    keep,
)
from rollview.algebra.scalar import Scalar, col, conjunction, equal, literal
from rollview.deltas.signed import Signed, net, rows_as
from rollview.frontend.sets import repeated
from rollview.names import COUNT, PREFIX, TICK
from rollview.plan.extent import Extent, Kind
from rollview.plan.stages import CHANGED, EXTENT, matched, plain, unmatched
from rollview.rules.subtract import BOTH_SIGNS

if TYPE_CHECKING:
    from rollview.deltas.states import States


def view_delta(extent: Extent, *, may_miss: bool = False, replaced: bool = False) -> Signed:
    """Δ of the view's visible rows, from the change of its extent and the extent before it; not net.

    `replaced`: the change holds the new rows of the changed groups, not what is added to them. Where there is a reserve
    it holds all the new rows.
    """
    before = Scan(EXTENT, plain(extent.columns), State.BEFORE)
    if extent.reserve is not None:
        return Signed(difference(extent, before, Scan(CHANGED, plain(extent.columns))))
    if extent.group_reserve is not None:
        here = matched(before, CHANGED, extent.group_reserve.groups)
        return Signed(difference(extent, here, changed_rows(extent, here)))
    if extent.states is None:
        changed: Relation = Scan(CHANGED, plain((*extent.columns, COUNT)))
        if may_miss:
            changed = found(extent, changed)
        return Signed(read(extent.reader, changed, COUNT))
    if not extent.reads_all and not replaced:
        return Signed(both_sides(extent, extent.states))
    old = before if extent.reads_all else matched(before, CHANGED, extent.key)
    change = Scan(CHANGED, plain(extent.columns))
    new: Relation = change
    if not replaced:
        new = Aggregate(
            UnionAll((old, change), extent.columns),
            tuple((k, col(k)) for k in extent.key),
            tuple(Measure(s.name, s.update.value, col(s.name)) for s in extent.states.all),
            grouped=bool(extent.key),
        )
    elif extent.reads_all and extent.key:
        new = UnionAll((unmatched(before, CHANGED, extent.key), change), extent.columns)
    return Signed(difference(extent, old, supported(extent, new)))


def difference(extent: Extent, old: Relation, new: Relation) -> Relation:
    """What readers see of the old rows is lost, of the new ones gained."""
    sides = tuple(rows_as(read(extent.reader, rows), n) for rows, n in ((old, -1), (new, 1)))
    return UnionAll(sides, (*extent.reader.names, COUNT))


def whole_delta(extent: Extent) -> Relation:
    """Δ of the visible rows from all stored rows before and after, for readers that see rows beside each other."""
    before, after = (Scan(EXTENT, plain(extent.columns), at) for at in (State.BEFORE, State.AFTER))
    return net(Signed(difference(extent, before, after)))


def changed_rows(extent: Extent, before: Relation | None = None) -> Relation:
    """The stored rows, or some of them, after a signed change."""
    before = Scan(EXTENT, plain(extent.columns), State.BEFORE) if before is None else before
    change = Scan(CHANGED, plain((*extent.columns, COUNT)))
    if extent.kind is Kind.BAG:
        both = net(Signed(UnionAll((rows_as(before, 1), change), change.names)))
        return keep(Generate(both, repeated(col(COUNT).tree), (f"{PREFIX}copy",)), extent.columns)
    lost, gained = (
        Filter(change, Scalar(sign(this=col(COUNT).tree, expression=exp.Literal.number(0))))
        for sign in (exp.LT, exp.GT)
    )
    marked = tuple((f"{PREFIX}of_{k}", col(k)) for k in extent.key)
    same = conjunction(equal(col(k), col(m)) for k, (m, _) in zip(extent.key, marked, strict=True))
    stays = AntiJoin(before, Project(lost, marked), same or literal(True))
    return UnionAll((stays, keep(gained, extent.columns)), extent.columns)


def both_sides(extent: Extent, states: States) -> Relation:
    """The changed groups as they were, lost, and as they are, gained. The extent is looked up once.

    A group's states are added up over its row in the extent and its row in the change; over the first alone they are
    what they were.
    """
    is_old, sign = f"{PREFIX}is_old", f"{PREFIX}sign"
    old = matched(Scan(EXTENT, plain(extent.columns), State.BEFORE), CHANGED, extent.key)
    sides = tuple(
        Project(rows, (*((c, col(c)) for c in extent.columns), (is_old, literal(n))))
        for rows, n in ((old, 1), (Scan(CHANGED, plain(extent.columns)), 0))
    )
    was = exp.EQ(this=col(is_old).tree, expression=exp.Literal.number(1))
    measures = [Measure(s.name, s.update.value, col(s.name)) for s in states.all]
    earlier = [
        Measure(f"{PREFIX}old_{m.name}", m.function, Scalar(exp.If(this=was, true=col(m.name).tree, false=exp.null())))
        for m in measures
    ]
    summed = Aggregate(
        UnionAll(sides, (*extent.columns, is_old)),
        tuple((k, col(k)) for k in extent.key),
        (*measures, *earlier),
        grouped=bool(extent.key),
    )
    either = Generate(summed, BOTH_SIGNS, (sign,))
    lost = exp.LT(this=col(sign).tree, expression=exp.Literal.number(0))
    values = tuple(
        (m.name, Scalar(exp.If(this=lost, true=col(e.name).tree, false=col(m.name).tree)))
        for m, e in zip(measures, earlier, strict=True)
    )
    rows = Project(either, (*((k, col(k)) for k in extent.key), *values, (sign, col(sign))))
    shown = read(extent.reader, supported(extent, rows), sign)
    return Project(shown, (*((n, col(n)) for n in extent.reader.names), (COUNT, col(sign))))


def supported(extent: Extent, rows: Relation) -> Relation:
    """Without the groups that have no row; a global aggregate has always one."""
    return Filter(rows, Scalar(exp.GT(this=col(COUNT).tree, expression=exp.Literal.number(0)))) if extent.key else rows


def found(extent: Extent, changed: Relation) -> Relation:
    """The change, without the deletions that find nothing in the extent."""
    before = Scan(EXTENT, tuple((c, c) for c in extent.columns), State.BEFORE)
    marked = tuple((f"{PREFIX}of_{k}", col(k)) for k in extent.key)
    lost = Project(Filter(changed, Scalar(exp.LT(this=col(COUNT).tree, expression=exp.Literal.number(0)))), marked)
    same = conjunction(equal(col(k), col(m)) for k, (m, _) in zip(extent.key, marked, strict=True))
    assert same is not None
    gained = Filter(changed, Scalar(exp.GT(this=col(COUNT).tree, expression=exp.Literal.number(0))))
    return UnionAll((gained, rows_as(SemiJoin(before, lost, same), -1)), changed.names)


def read(reader: Relation, rows: Relation, *riding: str) -> Relation:
    """The reader over other rows of the extent's form; further columns of theirs ride along."""
    match reader:
        case Scan():
            return rows
        case Filter():
            return Filter(read(reader.source, rows, *riding), reader.predicate)
        case Generate() | Window():
            return replace(reader, source=read(reader.source, rows, *riding))
        case Project():
            return Project(read(reader.source, rows, *riding), (*reader.columns, *((c, col(c)) for c in riding)))
    raise TypeError(type(reader).__name__)


def timed_view_delta(extent: Extent) -> Relation:
    """Δ of an aggregate's visible rows at every tick: its columns, `__count` and `__tick`.

    A group that moves at tick t is, just before t, the sum of its states before the span and of its changes with ticks
    < t; and at t of those with ticks ≤ t. What readers see of the first is lost, of the second gained.
    """
    assert extent.states is not None
    states = tuple(s.name for s in extent.states.all)
    moments = (*extent.key, TICK)
    events = Aggregate(Scan(CHANGED, tuple((c, c) for c in moments)), tuple((c, col(c)) for c in moments), ())
    before = Scan(EXTENT, tuple((c, c) for c in (*extent.key, *states)), State.BEFORE)
    start = Project(before, (*((c, col(c)) for c in before.names), (TICK, literal(0))))
    changes = Scan(CHANGED, tuple((c, c) for c in (*extent.key, *states, TICK)))
    past = UnionAll((start, changes), tuple(f"{PREFIX}of_{c}" for c in changes.names))

    def at(earlier: type[exp.Binary]) -> Relation:
        """The groups that move, as of each moment."""
        same = [equal(col(k), col(f"{PREFIX}of_{k}")) for k in extent.key]
        when = Scalar(earlier(this=col(f"{PREFIX}of_{TICK}").tree, expression=col(TICK).tree))
        predicate = conjunction([*same, when])
        summed = Aggregate(
            Join(events, past, predicate),
            tuple((c, col(c)) for c in moments),
            tuple(Measure(s, Function.SUM, col(f"{PREFIX}of_{s}")) for s in states),
        )
        return supported(extent, summed)

    shown = (*extent.reader.names, TICK)
    lost, gained = (
        rows_as(keep(read(extent.reader, at(earlier), TICK), shown), n) for earlier, n in ((exp.LT, -1), (exp.LTE, 1))
    )
    both = Signed(UnionAll((lost, gained), (*extent.reader.names, TICK, COUNT)))
    return keep(net(both), (*extent.reader.names, COUNT, TICK))
