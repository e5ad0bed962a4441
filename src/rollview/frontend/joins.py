"""JOIN of every kind to algebra: what it is called, how its columns are matched, and which of them are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import AntiJoin, Filter, Join, OuterJoin, Project, SemiJoin
from rollview.algebra.scalar import Scalar, col, conjunction, equal, literal
from rollview.frontend.refuse import bad, not_yet
from rollview.frontend.scalars import ands
from rollview.frontend.scope import Scope, Visible
from rollview.frontend.time_filters import reads_clock, time_filter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rollview.frontend.scope import Allocator

INNER, LEFT, RIGHT, FULL, SEMI, ANTI = "INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"
KINDS = {
    "": INNER,
    "INNER": INNER,
    "CROSS": INNER,
    "LEFT": LEFT,
    "LEFT OUTER": LEFT,
    "RIGHT": RIGHT,
    "RIGHT OUTER": RIGHT,
    "FULL": FULL,
    "FULL OUTER": FULL,
    "SEMI": SEMI,
    "LEFT SEMI": SEMI,
    "ANTI": ANTI,
    "LEFT ANTI": ANTI,
}
KEEPS = {LEFT: (True, False), RIGHT: (False, True), FULL: (True, True)}


def kind_of(join: exp.Join) -> str:
    words = " ".join(p for p in (join.side, join.kind) if p).upper()
    if words not in KINDS or join.method.upper() not in ("", "NATURAL"):
        spelled = " ".join(p for p in (join.method, words) if p).upper()
        raise not_yet(f"{spelled} JOIN", f"RV-JOIN-{spelled.split()[0]}", join)
    return KINDS[words]


def lower_join(
    scope: Scope, right: Scope, join: exp.Join, lower: Callable[[exp.Expr, Scope], Scalar], allocator: Allocator
) -> None:
    """`scope` becomes the scope of the join; `lower` resolves the condition in the scope of both sides."""
    kind = kind_of(join)
    refuse_shared_aliases(scope, right, join)
    names = join.args.get("using") or (common(scope, right) if join.method else ())
    using = [paired(name, scope, right) for name in names]
    both = scope.beside(right)
    same_keys = [equal(col(a), col(b)) for a, b in zip(scope.keys, right.keys, strict=False)]
    equated = [Scalar(exp.EQ(this=col(a).tree, expression=col(b).tree)) for a, b in using]
    on = join.args.get("on")
    timely: list[exp.Expr] = []
    if on is not None:
        plain = ands(on)
        if kind == INNER:
            timely = [p for p in plain if reads_clock(p)]
            plain = [p for p in plain if not reads_clock(p)]
        equated = [lower(p, both) for p in plain]
    predicate = conjunction([*same_keys, *equated])
    if kind in (SEMI, ANTI):
        node = SemiJoin if kind == SEMI else AntiJoin
        scope.relation = node(scope.relation, right.relation, predicate or literal(True))
        return
    if kind == INNER:
        scope.relation = Join(scope.relation, right.relation)
        scope.relation = scope.relation if predicate is None else Filter(scope.relation, predicate)
        if timely:
            scope.relation = time_filter(timely, allocator, lambda part: lower(part, both))(scope.relation)
    else:
        scope.relation = OuterJoin(scope.relation, right.relation, predicate or literal(True), *KEEPS[kind])
    scope.join(right)
    scope.keys = scope.keys or right.keys
    merge(scope, using, kind, allocator)


def merge(scope: Scope, using: Sequence[tuple[str, str]], kind: str, allocator: Allocator) -> None:
    """USING shows one column for two: the left one, in a RIGHT join the right one, in a FULL join the one there is."""
    whole: list[tuple[str, Scalar]] = []
    for a, b in reversed(using):
        if kind != FULL:
            scope.merge(*((b, a) if kind == RIGHT else (a, b)))
            continue
        shown = next(c for c in scope.shown if c.unique == a)
        merged = Visible(shown.name, allocator.name(shown.name))
        whole.append((merged.unique, Scalar(exp.Coalesce(this=col(a).tree, expressions=[col(b).tree]))))
        scope.merge(a, b)
        scope.exchange(a, merged)
    if whole:
        kept = tuple((n, col(n)) for n in scope.relation.names)
        scope.relation = Project(scope.relation, (*kept, *whole))


def common(left: Scope, right: Scope) -> list[exp.Identifier]:
    """The names that NATURAL equates; Spark minds their case here."""
    theirs = {c.name for c in right.shown}
    return [exp.to_identifier(c.name, quoted=True) for c in left.shown if c.name in theirs]


def paired(name: exp.Identifier, left: Scope, right: Scope) -> tuple[str, str]:
    """The two columns that a name of USING equates: of several of that name the first, as in Spark."""
    return using_column(name, left), using_column(name, right)


def using_column(name: exp.Identifier, side: Scope) -> str:
    found = next((c.unique for c in side.shown if c.name.lower() == name.name.lower()), None)
    found = found or side.resolve(exp.Column(this=name.copy())).column
    if found is None:
        raise bad(f"USING needs columns, and {name.name!r} is none", "RV-UNKNOWN-COLUMN", name)
    return found


def refuse_shared_aliases(left: Scope, right: Scope, join: exp.Join) -> None:
    taken = {i.alias.lower() for i in left.items if i.alias}
    for item in right.items:
        if item.alias and item.alias.lower() in taken:
            raise bad(
                f"the table alias {item.alias!r} is used twice",
                "RV-DUPLICATE-ALIAS",
                join.this,
                "give one of them another alias",
            )
