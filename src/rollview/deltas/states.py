"""What an aggregate stores: states over the group's rows, from which every output is derived.

Each measure's argument gets the number of its non-NULL values, and their sum, parity, least or greatest value, as its
function needs. Floating-point arguments may be NaN or infinite, which no subtraction undoes: such values are counted
apart and only finite ones are summed. A measure that no such states yield is stored as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from rollview.algebra.call import Call
from rollview.algebra.relation import Aggregate, Function, Measure, Project, Relation
from rollview.algebra.scalar import Scalar, col, operand
from rollview.deltas import moments
from rollview.deltas.change_table import Update, Updates
from rollview.names import COUNT, state_column

FLOATS = ("double", "float")
INTEGERS = ("tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True, slots=True)
class StateColumn:
    """One stored column: `function` over `argument`; without an argument, the count of rows."""

    name: str
    argument: Scalar | None
    function: Function
    support: str = COUNT
    """for an extreme: the state that counts the values it is taken from"""

    @property
    def update(self) -> Update:
        return Update.ADD if self.function is Function.COUNT else Update(self.function)

    @property
    def value(self) -> Scalar:
        if self.argument is None:
            raise ValueError("a count of rows has no argument")
        return self.argument

    @property
    def is_extreme(self) -> bool:
        return self.update in (Update.LEAST, Update.GREATEST)

    def initial(self) -> Measure:
        return Measure(self.name, self.function, self.argument)

    def or_zero(self, value: Scalar) -> Scalar:
        """Sums and parities over nothing are zero."""
        if self.update not in (Update.ADD, Update.XOR):
            return value
        return Scalar(exp.Coalesce(this=value.tree.copy(), expressions=[exp.Literal.number(0)]))


@dataclass(frozen=True, slots=True)
class States:
    """The states of an aggregate and, per measure, the expression that derives its output from them."""

    all: tuple[StateColumn, ...]
    outputs: tuple[tuple[str, Scalar], ...]
    floating: bool
    """some sum is floating-point: subtraction leaves rounding errors behind"""

    @property
    def updates(self) -> Updates:
        return {s.name: s.update for s in self.all}

    @property
    def extremes(self) -> tuple[StateColumn, ...]:
        return tuple(s for s in self.all if s.is_extreme)

    @property
    def changing(self) -> tuple[StateColumn, ...]:
        """The states that a change table has a column for."""
        return tuple(s for s in self.all if s.update is not Update.REPLACE)

    @property
    def derived(self) -> bool:
        """Has every measure its update functions? Else changed groups are re-derived."""
        return len(self.changing) == len(self.all)

    @property
    def additive(self) -> bool:
        """Can any change be undone by its opposite, exactly?"""
        return not self.floating and self.derived and not self.extremes

    def initial(self, node: Aggregate) -> Relation:
        """The extent's rows computed from scratch."""
        grouped = Aggregate(node.source, node.keys, tuple(s.initial() for s in self.all), node.grouped)
        kept = tuple((name, col(name)) for name, _ in node.keys)
        counts = (Function.COUNT,)
        return Project(
            grouped,
            kept + tuple((s.name, col(s.name) if s.function in counts else s.or_zero(col(s.name))) for s in self.all),
        )


class StateBuilder:
    """Collects state columns, one per distinct argument and part."""

    def __init__(self) -> None:
        self.columns: dict[tuple[str, str], StateColumn] = {("", "rows"): StateColumn(COUNT, None, Function.COUNT)}
        self.floating = False

    def column(self, name: str, part: str, argument: Scalar, function: Function, support: str = COUNT) -> exp.Expr:
        # equal arguments of two measures share their states
        column = self.columns.setdefault(
            (str(argument), part), StateColumn(state_column(name, part), argument, function, support)
        )
        return col(column.name).tree

    def count(self, name: str, argument: Scalar | None) -> exp.Expr:
        if argument is None or argument.is_constant:
            return col(COUNT).tree
        return self.column(name, "n", argument, Function.COUNT)

    def sum(self, name: str, argument: Scalar) -> exp.Expr:
        return self.column(name, "sum", argument, Function.SUM)

    def total(self, measure: Measure, type_: str) -> exp.Expr:
        argument = measure.argument
        assert argument is not None
        if measure.function is Function.AVG and type_ in INTEGERS:
            argument = Scalar(exp.cast(argument.tree.copy(), "decimal(20,0)", dialect="spark"))
        if type_ not in FLOATS and argument.is_constant:  # so many rows times the same value
            return exp.Mul(this=col(COUNT).tree, expression=operand(argument.tree))
        if type_ not in FLOATS:
            return self.sum(measure.name, argument)
        return self.float_total(measure, argument)

    def float_total(self, measure: Measure, argument: Scalar) -> exp.Expr:
        self.floating = True
        wide = exp.cast(argument.tree.copy(), "double", dialect="spark")
        tests = {
            "nan": exp.EQ(this=wide.copy(), expression=special("NaN")),
            "inf": exp.EQ(this=wide.copy(), expression=special("Infinity")),
            "neginf": exp.EQ(this=wide.copy(), expression=special("-Infinity")),
        }
        one = exp.Literal.number(1)
        counts = {
            part: self.column(
                measure.name,
                part,
                Scalar(exp.If(this=t.copy(), true=one.copy(), false=exp.null())),
                Function.COUNT,
            )
            for part, t in tests.items()
        }
        odd = exp.or_(*(t.copy() for t in tests.values()))
        finite = Scalar(exp.If(this=odd, true=exp.cast(exp.Literal.number(0), "double"), false=wide.copy()))
        total = self.sum(measure.name, finite)

        def some(part: str) -> exp.Expr:
            return exp.GT(this=counts[part].copy(), expression=exp.Literal.number(0))

        return (
            exp.Case()
            .when(exp.or_(some("nan"), exp.and_(some("inf"), some("neginf"))), special("NaN"))
            .when(some("inf"), special("Infinity"))
            .when(some("neginf"), special("-Infinity"))
            .else_(total)
        )


def special(name: str) -> exp.Expr:
    return exp.cast(exp.Literal.string(name), "double")


def states_of(node: Aggregate, argument_types: dict[str, str], result_types: dict[str, str]) -> States:
    """The states that the measures need. Types are Spark's: of results by measure, of arguments see `arguments_of`."""
    builder = StateBuilder()
    outputs = tuple((m.name, output(m, builder, argument_types, result_types.get(m.name, ""))) for m in node.measures)
    return States(tuple(builder.columns.values()), outputs, builder.floating)


def arguments_of(node: Aggregate) -> tuple[tuple[str, Scalar], ...]:
    """The arguments whose types decide on the states: of each measure, and both of a statistical call."""
    found: list[tuple[str, Scalar]] = []
    for m in node.measures:
        if m.function is not Function.CALL:
            found += [(m.name, m.argument)] if m.argument is not None else []
        elif m.argument is not None and (pair := moments.arguments(m.argument)):
            found += [(moments.typed(m.name, place), argument) for place, argument in enumerate(pair)]
    return tuple(found)


def output(measure: Measure, builder: StateBuilder, types: dict[str, str], result_type: str) -> Scalar:
    """The output over the states, which are entered into the builder on the way."""
    if measure.function is Function.CALL:
        return call_output(measure, builder, types)
    count = builder.count(measure.name, measure.argument)
    if measure.function is Function.COUNT:
        return Scalar(count)
    assert measure.argument is not None
    if measure.function is Function.AVG and not average_is_exact(types.get(measure.name, "")):
        whole = Scalar(exp.Avg(this=measure.argument.tree.copy()))
        return Scalar(builder.column(measure.name, "value", whole, Function.CALL))
    if measure.function in (Function.MIN, Function.MAX):
        part = measure.function.value
        return Scalar(builder.column(measure.name, part, measure.argument, measure.function, count.name))
    none = exp.EQ(this=count.copy(), expression=exp.Literal.number(0))
    if measure.function is Function.BIT_XOR:
        value = builder.column(measure.name, "xor", measure.argument, Function.BIT_XOR)
        return Scalar(exp.Case().when(none, exp.Null()).else_(value))
    total = builder.total(measure, types.get(measure.name, ""))
    if measure.function is Function.AVG:
        total = quotient(total, count, result_type)
    value = exp.cast(total, result_type, dialect="spark") if result_type else total
    return Scalar(exp.Case().when(none, exp.Null()).else_(value))


def call_output(measure: Measure, builder: StateBuilder, types: dict[str, str]) -> Scalar:
    """From sums of exact numbers where the function is made of them; else the stored value itself."""
    assert measure.argument is not None
    pair = moments.arguments(measure.argument)
    scales = [moments.scale(types.get(moments.typed(measure.name, i), "")) for i in range(len(pair))]
    if not pair or None in scales:
        return Scalar(builder.column(measure.name, "value", measure.argument, Function.CALL))
    call = Call.of(measure.argument.tree)
    assert call is not None
    x, y = pair[0], pair[-1]
    both = [s for s in scales if s is not None]
    present = exp.and_(
        *(exp.Not(this=exp.Is(this=operand(a.tree), expression=exp.Null())) for a in dict.fromkeys(pair))
    )

    def integral(argument: Scalar, scale: int) -> exp.Expr:
        value = moments.unscaled(argument.tree, scale)
        return value if len(pair) == 1 else exp.Case().when(present.copy(), value)

    u, v = integral(x, both[0]), integral(y, both[-1])
    name = measure.name
    count = builder.count(name, x if len(pair) == 1 else Scalar(exp.Case().when(present, exp.Literal.number(1))))
    sums = moments.Sums(
        count,
        builder.sum(name, Scalar(u)),
        builder.sum(f"{name}_y" if len(pair) > 1 else name, Scalar(v)),
        builder.column(name, "xx", moments.product(u, u), Function.SUM),
        builder.column(name, "xy", moments.product(u, v), Function.SUM) if len(pair) > 1 else None,
        builder.column(name, "yy", moments.product(v, v), Function.SUM) if len(pair) > 1 else None,
        both[0],
        both[-1],
    )
    return Scalar(moments.FORMULAS[call.name](sums))


def quotient(total: exp.Expr, count: exp.Expr, result_type: str) -> exp.Expr:
    """sum / count as Spark's own AVG rounds it: doubles for integers, decimals with four more digits."""
    wide = "decimal(20,0)" if result_type.startswith("decimal") else "double"
    divisor = exp.cast(count.copy(), wide, dialect="spark")
    dividend = total if result_type.startswith("decimal") else exp.cast(total, "double", dialect="spark")
    return exp.Div(this=operand(dividend), expression=divisor, typed=False, safe=False)


def average_is_exact(argument_type: str) -> bool:
    """Does decimal division keep the digits that AVG over this type has?"""
    match = re.fullmatch(r"decimal\((\d+),(\d+)\)", argument_type)
    if match is None:
        return True
    precision, scale = int(match[1]), int(match[2])
    whole = min(38, precision + 10) - scale
    return 38 - whole >= scale + 4
