"""What an aggregate stores: sums over the group's rows, from which every output is derived.

Each measure's argument gets the number of its non-NULL values and their sum. Floating-point arguments may be
NaN or infinite, which no subtraction undoes: such values are counted apart and only finite ones are summed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from rollview.algebra.relation import Aggregate, Function, Measure, Project, Relation
from rollview.algebra.scalar import Scalar, col, operand
from rollview.names import COUNT, state_column

FLOATS = ("double", "float")
INTEGERS = ("tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True, slots=True)
class StateColumn:
    """One stored sum. It counts rows for which `argument` is not NULL, or sums `argument`."""

    name: str
    argument: Scalar | None
    counts: bool

    @property
    def value(self) -> Scalar:
        if self.argument is None:
            raise ValueError("a count of rows has no argument")
        return self.argument

    def initial(self) -> Measure:
        return Measure(self.name, Function.COUNT if self.counts else Function.SUM, self.argument)

    def or_zero(self, value: Scalar) -> Scalar:
        return Scalar(exp.Coalesce(this=value.tree.copy(), expressions=[exp.Literal.number(0)]))


@dataclass(frozen=True, slots=True)
class States:
    """The states of an aggregate and, per measure, the expression that derives its output from them."""

    all: tuple[StateColumn, ...]
    outputs: tuple[tuple[str, Scalar], ...]
    floating: bool
    """some sum is floating-point: subtraction leaves rounding errors behind"""

    def any_nonzero(self) -> Scalar:
        tests = [exp.NEQ(this=col(s.name).tree, expression=exp.Literal.number(0)) for s in self.all]
        tree: exp.Expr = tests[0]
        for test in tests[1:]:
            tree = exp.Or(this=tree, expression=test)
        return Scalar(tree)

    def initial(self, node: Aggregate) -> Relation:
        """The extent's rows computed from scratch."""
        grouped = Aggregate(node.source, node.keys, tuple(s.initial() for s in self.all), node.grouped)
        kept = tuple((name, col(name)) for name, _ in node.keys)
        return Project(
            grouped,
            kept + tuple((s.name, col(s.name) if s.counts else s.or_zero(col(s.name))) for s in self.all),
        )


class StateBuilder:
    """Collects state columns, one per distinct argument and part."""

    def __init__(self) -> None:
        self.columns: dict[tuple[str, str], StateColumn] = {("", "rows"): StateColumn(COUNT, None, True)}
        self.floating = False

    def column(self, measure: Measure, part: str, argument: Scalar, *, counts: bool) -> exp.Expr:
        # equal arguments of two measures share their states
        column = self.columns.setdefault(
            (str(argument), part), StateColumn(state_column(measure.name, part), argument, counts)
        )
        return col(column.name).tree

    def count(self, measure: Measure) -> exp.Expr:
        if measure.argument is None or measure.argument.is_constant:
            return col(COUNT).tree
        return self.column(measure, "n", measure.argument, counts=True)

    def total(self, measure: Measure, type_: str) -> exp.Expr:
        argument = measure.argument
        assert argument is not None
        if measure.function is Function.AVG and type_ in INTEGERS:
            argument = Scalar(exp.cast(argument.tree.copy(), "decimal(20,0)", dialect="spark"))
        if type_ not in FLOATS and argument.is_constant:  # so many rows times the same value
            return exp.Mul(this=col(COUNT).tree, expression=operand(argument.tree))
        if type_ not in FLOATS:
            return self.column(measure, "sum", argument, counts=False)
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
                measure, part, Scalar(exp.If(this=t.copy(), true=one.copy(), false=exp.null())), counts=True
            )
            for part, t in tests.items()
        }
        odd = exp.or_(*(t.copy() for t in tests.values()))
        finite = Scalar(exp.If(this=odd, true=exp.cast(exp.Literal.number(0), "double"), false=wide.copy()))
        total = self.column(measure, "sum", finite, counts=False)

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
    """The states that the measures need. Types are Spark's, of each argument and result, by measure."""
    builder = StateBuilder()
    outputs = tuple(
        (m.name, output(m, builder, argument_types.get(m.name, ""), result_types.get(m.name, "")))
        for m in node.measures
    )
    return States(tuple(builder.columns.values()), outputs, builder.floating)


def output(measure: Measure, builder: StateBuilder, argument_type: str, result_type: str) -> Scalar:
    count = builder.count(measure)
    if measure.function is Function.COUNT:
        return Scalar(count)
    total = builder.total(measure, argument_type)
    none = exp.EQ(this=count.copy(), expression=exp.Literal.number(0))
    if measure.function is Function.AVG:
        total = quotient(total, count, result_type)
    value = exp.cast(total, result_type, dialect="spark") if result_type else total
    return Scalar(exp.Case().when(none, exp.Null()).else_(value))


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
