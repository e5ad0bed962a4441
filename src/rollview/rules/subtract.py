"""An aggregate below the top whose states can be subtracted: the groups before the span follow from those after it.

Law: Δγ(R) = -(γ(R_after ⋉ K) ⊖ □γ(R)) ⊎ γ(R_after ⋉ K), where ⊖ takes the change table □γ(R) back, state by state.

So the affected groups are looked up once and not twice. Both sides are one aggregate over the rows after the span and
the changed rows; each of its groups then becomes the row that is lost and the row that is gained.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from rollview.algebra.relation import Aggregate, Filter, Function, Generate, Measure, Project, Relation, UnionAll
from rollview.algebra.scalar import Scalar, col, literal, operand
from rollview.deltas.signed import Signed, counted, signed_value
from rollview.names import COUNT, PREFIX
from rollview.rules.aggregate import affected

AFTER, SIGN = f"{PREFIX}is_after", f"{PREFIX}sign"
ROWS = f"{PREFIX}rows"


def subtracted_delta(node: Aggregate, after: Relation, source: Signed) -> Signed:
    """The law above, for COUNT, SUM and BIT_XOR of exact numbers."""
    standing = contributions(node, affected(node.keys, after, source), of_row, is_after=True)
    changed = contributions(node, source.relation, of_change, is_after=False)
    both = UnionAll((standing, changed), standing.names)
    measures = [m for measure in node.measures for m in parts(measure)]
    measures += [Measure(f"{ROWS}_after", Function.SUM, col(AFTER)), Measure(f"{ROWS}_before", Function.SUM, col(SIGN))]
    keys = tuple((name, col(name)) for name, _ in node.keys)
    grouped: Relation = Generate(Aggregate(both, keys, tuple(measures), node.grouped), BOTH_SIGNS, (COUNT,))
    if node.grouped:
        there = either(col(f"{ROWS}_before"), col(f"{ROWS}_after"))
        grouped = Filter(grouped, Scalar(exp.NEQ(this=operand(there.tree), expression=exp.Literal.number(0))))
    values = tuple((m.name, either(before_of(m), after_of(m))) for m in node.measures)
    return Signed(Project(grouped, (*keys, *values, (COUNT, col(COUNT)))))


BOTH_SIGNS = Scalar(
    exp.Anonymous(
        this="explode",
        expressions=[exp.Array(expressions=[exp.Neg(this=exp.Literal.number(1)), exp.Literal.number(1)])],
    )
)


def contributions(node: Aggregate, rows: Relation, value: Callable[[Measure], Scalar], *, is_after: bool) -> Relation:
    """What each row adds to each measure, and to the number of rows before the span."""
    sign = literal(1) if is_after else Scalar(exp.Neg(this=col(COUNT).tree))
    return Project(
        rows,
        (
            *node.keys,
            *((value_of(m.name), value(m)) for m in node.measures),
            (AFTER, literal(1 if is_after else 0)),
            (SIGN, sign),
        ),
    )


def of_row(measure: Measure) -> Scalar:
    if measure.function is not Function.COUNT:
        assert measure.argument is not None
        return measure.argument
    if measure.argument is None:
        return literal(1)
    missing = exp.Is(this=operand(measure.argument.tree), expression=exp.Null())
    return Scalar(exp.If(this=missing, true=exp.Literal.number(0), false=exp.Literal.number(1)))


def of_change(measure: Measure) -> Scalar:
    if measure.function is Function.COUNT:
        return counted(measure.argument)
    assert measure.argument is not None
    return signed_value(measure.argument) if measure.function is Function.SUM else measure.argument


def parts(measure: Measure) -> list[Measure]:
    """The measure after the span, its change, and how many values it had before."""
    bulk = Function.BIT_XOR if measure.function is Function.BIT_XOR else Function.SUM
    value = col(value_of(measure.name))
    missing = exp.Is(this=value.tree, expression=exp.Null())
    number = Scalar(exp.If(this=missing, true=exp.Literal.number(0), false=col(SIGN).tree))
    return [
        Measure(f"{PREFIX}after_{measure.name}", bulk, when_after(value, 1)),
        Measure(f"{PREFIX}change_{measure.name}", bulk, when_after(value, 0)),
        Measure(f"{PREFIX}values_{measure.name}", Function.SUM, number),
    ]


def when_after(value: Scalar, side: int) -> Scalar:
    test = exp.EQ(this=col(AFTER).tree, expression=exp.Literal.number(side))
    return Scalar(exp.If(this=test, true=value.tree, false=exp.null()))


def value_of(measure: str) -> str:
    return f"{PREFIX}value_{measure}"


def after_of(measure: Measure) -> Scalar:
    value = col(f"{PREFIX}after_{measure.name}")
    return or_zero(value) if measure.function is Function.COUNT else value


def before_of(measure: Measure) -> Scalar:
    """after ⊖ change; a sum of no values is NULL."""
    after, change = (or_zero(col(f"{PREFIX}{part}_{measure.name}")).tree for part in ("after", "change"))
    opposite = exp.BitwiseXor if measure.function is Function.BIT_XOR else exp.Sub
    value = opposite(this=after, expression=change)
    if measure.function is Function.COUNT:
        return Scalar(value)
    none = exp.EQ(this=or_zero(col(f"{PREFIX}values_{measure.name}")).tree, expression=exp.Literal.number(0))
    return Scalar(exp.If(this=none, true=exp.null(), false=value))


def or_zero(value: Scalar) -> Scalar:
    return Scalar(exp.Coalesce(this=value.tree.copy(), expressions=[exp.Literal.number(0)]))


def either(before: Scalar, after: Scalar) -> Scalar:
    """The one in the row that is lost, the other in the row that is gained."""
    lost = exp.LT(this=col(COUNT).tree, expression=exp.Literal.number(0))
    return Scalar(exp.If(this=lost, true=before.tree.copy(), false=after.tree.copy()))
