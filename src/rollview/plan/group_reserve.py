"""The first rows of every group are stored with some in reserve.

For `row_number()` or `rank() OVER (PARTITION BY g ORDER BY e) <= n` at the top of a view, of each group R_g some first
rows P_g are stored, more than are shown:

    P_g is closed: what comes before one of its rows, or ties with it, is in P_g;   |P_g| ≥ n, or P_g = R_g.

So the rows of P_g have the values in P_g that they have in R_g, and no other row has one up to n. No bound needs to be
stored, the last row of P_g is one:

    ΔP_g = ΔR_g                   if |P_g| < n
    ΔP_g = σ_{e ⪯ last(P_g)}(ΔR_g)   otherwise

Only the stored rows of the groups that ΔR names are looked up, and of R only what ΔR needs. A group that had n rows and
is left with fewer is *suspect*: it is derived anew. A group that has grown to several times what is wanted is cut back,
from its stored rows alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from rollview.algebra.relation import (
    Aggregate,
    Filter,
    Generate,
    OuterJoin,
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
from rollview.names import COUNT, PREFIX
from rollview.plan.reserve import LAST, PLACE, ROWS, at_most, backwards, over, within
from rollview.plan.stages import CHANGED, EXTENT, SETTLED, SUSPECT, SUSPECTS, matched, plain

GROUP_SPARE = 3
"""at least so many rows of a group are in reserve"""
GROUP_GROWTH = 4
"""the stored rows of a group are cut back when they are so many times more than wanted"""
CROWDED = f"{PREFIX}crowded"
"""a flag of groups to cut back, and the name by which these are scanned"""
MOVED = f"{PREFIX}moved"


@dataclass(frozen=True, slots=True)
class GroupReserve:
    """Of each group of `source` the first rows in an `order` are stored; readers see those up to the place `needed`."""

    source: Relation
    groups: tuple[str, ...]
    order: tuple[exp.Ordered, ...]
    needed: int
    spare: int
    key: tuple[str, ...]
    """of the rows that readers see, if one is known"""

    @property
    def wanted(self) -> int:
        return self.needed + self.spare

    @property
    def columns(self) -> tuple[str, ...]:
        return self.source.names

    def chosen(self, rows: Relation) -> Relation:
        """The first of each group's rows, as many as are wanted, and those that tie with the last."""
        return keep(Filter(self.ranked(rows), at_most(PLACE, self.wanted)), rows.names)

    def surplus(self, rows: Relation) -> Relation:
        """The others."""
        return keep(Filter(self.ranked(rows), negated(at_most(PLACE, self.wanted))), rows.names)

    def ranked(self, rows: Relation) -> Relation:
        return Window(rows, ((PLACE, over("rank", self.order, self.groups)),))

    # --- the stages of a refresh ----------------------------------------------------------------------

    def placed(self, near: Scalar | None = None, *, always: bool = False) -> Relation:
        """What of ΔR, net and scanned as CHANGED, falls into P; SUSPECT and CROWDED tell of its group.

        `near` prunes the extent's files; `always` makes every group that changes suspect.
        """
        changed = Scan(CHANGED, plain((*self.columns, COUNT)))
        shown = tuple((n, col(n)) for n in changed.names)
        if always:
            return Project(changed, (*shown, (SUSPECT, literal(True)), (CROWDED, literal(False))))
        same = conjunction(equal(col(g), col(f"{PREFIX}of_{g}")) for g in self.groups)
        assert same is not None
        were = exp.Coalesce(this=col(ROWS).tree, expressions=[exp.Literal.number(0)])
        needed, most = exp.Literal.number(self.needed), exp.Literal.number(GROUP_GROWTH * self.wanted)
        inside = within(self.order, tuple(col(f"{PREFIX}last_{o.this.name}").tree for o in self.order))
        falls = exp.Or(this=exp.LT(this=were, expression=needed), expression=exp.Paren(this=inside.tree))
        moved = exp.Window(
            this=exp.Sum(this=col(COUNT).tree), partition_by=[col(g).tree for g in self.groups], over="OVER"
        )
        found = Filter(OuterJoin(changed, self.edges(near), same), Scalar(falls))
        are = exp.Add(this=were.copy(), expression=col(MOVED).tree)
        used = exp.And(
            this=exp.GTE(this=were.copy(), expression=needed.copy()),
            expression=exp.LT(this=are, expression=needed.copy()),
        )
        full = exp.GT(this=are.copy(), expression=most)
        summed = Window(found, ((MOVED, Scalar(moved)),))
        return Project(summed, (*shown, (SUSPECT, Scalar(used)), (CROWDED, Scalar(full))))

    def edges(self, near: Scalar | None) -> Relation:
        """Of the groups that change: the order's values in the last of their stored rows, and how many these are."""
        sorted_by = tuple(dict.fromkeys(o.this.name for o in self.order))
        rows = matched(self.before((*self.groups, *sorted_by), near), CHANGED, self.groups)
        last = over("row_number", backwards(self.order), self.groups)
        counted = Window(rows, ((LAST, last), (ROWS, over("count", groups=self.groups))))
        return Project(
            Filter(counted, at_most(LAST, 1)),
            (
                *((f"{PREFIX}of_{g}", col(g)) for g in self.groups),
                *((f"{PREFIX}last_{c}", col(c)) for c in sorted_by),
                (ROWS, col(ROWS)),
            ),
        )

    @staticmethod
    def before(columns: tuple[str, ...], near: Scalar | None) -> Relation:
        rows = Scan(EXTENT, plain(tuple(dict.fromkeys(columns))), State.BEFORE)
        return rows if near is None else Filter(rows, near)

    def flagged(self, flag: str) -> Relation:
        """The groups with a flag, from SETTLED."""
        found = Filter(Scan(SETTLED, plain((*self.groups, flag))), col(flag))
        return Aggregate(found, tuple((g, col(g)) for g in self.groups), ())

    def corrected(self, near: Scalar | None = None, *, suspects: bool, crowded: bool) -> Relation:
        """ΔP, from SETTLED and, if there are such groups, SUSPECTS and CROWDED."""
        columns = (*self.columns, COUNT)
        settled = Scan(SETTLED, plain((*columns, SUSPECT, CROWDED)))
        before = self.before(self.columns, near)
        parts: list[Relation] = [keep(Filter(settled, negated(col(SUSPECT))), columns)]
        if suspects:
            parts.append(rows_as(self.rederived(), 1))
            parts.append(rows_as(matched(before, SUSPECTS, self.groups), -1))
        if crowded:
            old = rows_as(matched(before, CROWDED, self.groups), 1)
            rows = net(Signed(UnionAll((old, keep(Filter(settled, col(CROWDED)), columns)), columns)))
            there = keep(Generate(rows, repeated(col(COUNT).tree), (f"{PREFIX}copy",)), self.columns)
            parts.append(rows_as(self.surplus(there), -1))
        return net(Signed(UnionAll(tuple(parts), columns)))

    def rederived(self) -> Relation:
        """The first rows of the suspect groups, after the span."""
        marked = tuple((g, f"{PREFIX}suspect_{g}") for g in self.groups)
        same = conjunction(equal(col(g), col(m)) for g, m in marked)
        assert same is not None
        return self.chosen(SemiJoin(self.source, Scan(SUSPECTS, marked), same))


def negated(test: Scalar) -> Scalar:
    return Scalar(exp.Not(this=exp.Paren(this=test.tree)))
