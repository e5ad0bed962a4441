"""Scalar evaluation for the interpreter: SQL's three-valued logic on Python values.

NULL is None. Exact numbers only (int, Decimal, Fraction); this is a definition to test against, not an
engine.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlglot import exp

if TYPE_CHECKING:
    from rollview.algebra.scalar import Scalar

Row = tuple[Any, ...]
Compiled = Callable[[Row], Any]


def alike(a: Any, b: Any) -> tuple[Any, Any]:
    """Python computes with decimals and with fractions, but not with both at once."""
    if isinstance(a, Fraction) and isinstance(b, Decimal):
        return a, Fraction(b)
    return (Fraction(a), b) if isinstance(b, Fraction) and isinstance(a, Decimal) else (a, b)


ARITHMETIC: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: lambda a, b: operator.add(*alike(a, b)),
    exp.Sub: lambda a, b: operator.sub(*alike(a, b)),
    exp.Mul: lambda a, b: operator.mul(*alike(a, b)),
    exp.Div: lambda a, b: Fraction(a) / Fraction(b),
    exp.BitwiseXor: operator.xor,
}
COMPARISON: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}


def refuse(message: str) -> Any:
    raise ValueError(message)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "raise_error": refuse,
    "array_repeat": lambda value, times: None if times is None else (value,) * times,
    "named_struct": lambda *parts: parts[1::2],
}


@lru_cache(maxsize=10_000)
def compile_scalar(scalar: Scalar, names: tuple[str, ...]) -> Compiled:
    """A function from a row (in the order of `names`) to the value."""
    return build(scalar.tree, {name: i for i, name in enumerate(names)})


def build(tree: exp.Expr, where: Mapping[str, int]) -> Compiled:
    kind = type(tree)
    if kind in ARITHMETIC or kind in COMPARISON:
        return strict(ARITHMETIC.get(kind) or COMPARISON[kind], build(tree.this, where), build(tree.expression, where))
    match tree:
        case exp.Column():
            index = where[tree.name]
            return lambda row: row[index]
        case exp.Literal():
            value = tree.this if tree.is_string else number(tree.this)
            return lambda row: value
        case exp.Null():
            return lambda row: None
        case exp.Boolean():
            truth = bool(tree.this)
            return lambda row: truth
        case exp.Paren() | exp.Cast():
            return build(tree.this, where)
        case exp.Round() | exp.Sqrt():
            rounded, function = build(tree.this, where), round if isinstance(tree, exp.Round) else math.sqrt
            return lambda row: None if (v := rounded(row)) is None else function(v)
        case exp.Neg():
            inner = build(tree.this, where)
            return lambda row: None if (v := inner(row)) is None else -v
        case exp.NullSafeEQ():
            left, right = build(tree.this, where), build(tree.expression, where)
            return lambda row: left(row) == right(row)
        case exp.Is():
            left, right = build(tree.this, where), build(tree.expression, where)
            return lambda row: left(row) is right(row) if right(row) is None else left(row) == right(row)
        case exp.Not():
            inner = build(tree.this, where)
            return lambda row: None if (v := inner(row)) is None else not v
        case exp.And() | exp.Or():
            return connective(isinstance(tree, exp.And), build(tree.this, where), build(tree.expression, where))
        case exp.In():
            return membership(build(tree.this, where), [build(e, where) for e in tree.expressions])
        case exp.Between():
            tested = build(tree.this, where)
            low, high = build(tree.args["low"], where), build(tree.args["high"], where)
            return connective(True, strict(operator.ge, tested, low), strict(operator.le, tested, high))
        case exp.Coalesce():
            options = [build(e, where) for e in (tree.this, *tree.expressions)]
            return lambda row: next((v for o in options if (v := o(row)) is not None), None)
        case exp.Least() | exp.Greatest():
            given = [build(e, where) for e in (tree.this, *tree.expressions)]
            pick = min if isinstance(tree, exp.Least) else max
            return lambda row: pick((v for g in given if (v := g(row)) is not None), default=None)
        case exp.If() | exp.Case():
            return conditional(tree, where)
        case exp.Array():
            elements = [build(e, where) for e in tree.expressions]
            return lambda row: tuple(e(row) for e in elements)
        case exp.Anonymous() if tree.name.lower() in FUNCTIONS:
            function, arguments = FUNCTIONS[tree.name.lower()], [build(e, where) for e in tree.expressions]
            return lambda row: function(*(a(row) for a in arguments))
    raise NotImplementedError(f"the interpreter does not know {kind.__name__}")


def strict(function: Callable[[Any, Any], Any], left: Compiled, right: Compiled) -> Compiled:
    """NULL in, NULL out."""

    def evaluate(row: Row) -> Any:
        a, b = left(row), right(row)
        return None if a is None or b is None else function(a, b)

    return evaluate


def connective(conjunction: bool, left: Compiled, right: Compiled) -> Compiled:
    deciding = not conjunction

    def evaluate(row: Row) -> Any:
        a, b = left(row), right(row)
        if a is deciding or b is deciding:
            return deciding
        return None if a is None or b is None else conjunction

    return evaluate


def membership(tested: Compiled, options: list[Compiled]) -> Compiled:
    def evaluate(row: Row) -> bool | None:
        value = tested(row)
        found = [o(row) for o in options]
        if value is None:
            return None
        if value in [f for f in found if f is not None]:
            return True
        return None if None in found else False

    return evaluate


def conditional(tree: exp.If | exp.Case, where: Mapping[str, int]) -> Compiled:
    if isinstance(tree, exp.If):
        branches = [(build(tree.this, where), build(tree.args["true"], where))]
        otherwise = tree.args.get("false")
    else:
        subject = tree.this
        tests = [
            exp.EQ(this=subject.copy(), expression=i.this.copy()) if subject is not None else i.this
            for i in tree.args["ifs"]
        ]
        branches = [
            (build(test, where), build(i.args["true"], where)) for test, i in zip(tests, tree.args["ifs"], strict=True)
        ]
        otherwise = tree.args.get("default")
    final: Compiled = build(otherwise, where) if otherwise is not None else lambda row: None

    def evaluate(row: Row) -> Any:
        for test, value in branches:
            if test(row) is True:
                return value(row)
        return final(row)

    return evaluate


def number(text: str) -> int | Decimal:
    return int(text) if text.lstrip("-").isdigit() else Decimal(text)
