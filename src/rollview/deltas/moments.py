"""The variance family from sums: n, Σx, Σy, Σx², Σxy, Σy².

Law: with any q and p,  Σ(x - x̄)(y - ȳ) = Σ(x - q)(y - p) - (Σx - nq)(Σy - np) / n
                                       = Σxy - qΣy - pΣx + npq - (Σx - nq)(Σy - np) / n.

Numbers are taken as integers (decimals times a power of ten), and q and p are the averages rounded to integers. All but
the last fraction is then exact in decimals, and no large sums cancel in floating point, whatever the numbers are: every
term is at most about Σx². Floating-point arguments have no exact sums; they are re-derived by group.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from rollview.algebra.call import Call
from rollview.algebra.scalar import Scalar, operand
from rollview.names import PREFIX

WIDE = 18
"""digits of a decimal whose squares still have exact sums"""


@dataclass(frozen=True, slots=True)
class Sums:
    """The states of one call; for a function of one argument y is x."""

    n: exp.Expr
    x: exp.Expr
    y: exp.Expr
    xx: exp.Expr
    xy: exp.Expr | None
    yy: exp.Expr | None
    x_scale: int
    y_scale: int

    def sxx(self) -> exp.Expr:
        return scaled(never_negative(centred(self.n, self.x, self.x, self.xx)), 2 * self.x_scale)

    def syy(self) -> exp.Expr:
        return scaled(never_negative(centred(self.n, self.y, self.y, self.yy or self.xx)), 2 * self.y_scale)

    def sxy(self) -> exp.Expr:
        return scaled(centred(self.n, self.x, self.y, self.xy or self.xx), self.x_scale + self.y_scale)


def centred(n: exp.Expr, x: exp.Expr, y: exp.Expr, xy: exp.Expr) -> exp.Expr:
    """Σ(x - x̄)(y - ȳ) as a double, by the law above: (Σxy - qΣy - p·r) - r·s/n, with r = Σx - nq and s = Σy - np."""
    rows = exp.cast(n.copy(), "decimal(20,0)", dialect="spark")
    q, p = rounded(x, n), rounded(y, n)
    r, s = minus(x, times(rows, q)), minus(y, times(rows, p))
    exact = minus(minus(xy, times(q, y)), times(p, r))
    return minus(double(exact), over(times(double(r), double(s)), double(n)))


def never_negative(square: exp.Expr) -> exp.Expr:
    """The last fraction is rounded, and may come out a little too large."""
    return exp.Greatest(this=square, expressions=[double(exp.Literal.number(0))])


def rounded(total: exp.Expr, n: exp.Expr) -> exp.Expr:
    mean = exp.Round(this=over(double(total), double(n)))
    return exp.cast(mean, "decimal(20,0)", dialect="spark")


def scaled(value: exp.Expr, digits: int) -> exp.Expr:
    return over(value, double(exp.Literal.number(10**digits))) if digits else value


def double(tree: exp.Expr) -> exp.Expr:
    return exp.cast(tree.copy(), "double", dialect="spark")


def minus(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    return exp.Sub(this=operand(a), expression=operand(b))


def times(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    return exp.Mul(this=operand(a), expression=operand(b))


def over(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    return exp.Div(this=operand(a), expression=operand(b), typed=False, safe=False)


def guarded(value: exp.Expr, *missing: exp.Expr) -> exp.Expr:
    """NULL where one of the conditions holds."""
    case = exp.Case()
    for test in missing:
        case = case.when(test, exp.Null())
    return case.else_(value)


def few(sums: Sums, rows: int) -> exp.Expr:
    return exp.LTE(this=sums.n.copy(), expression=exp.Literal.number(rows))


def zero(tree: exp.Expr) -> exp.Expr:
    return exp.EQ(this=operand(tree), expression=exp.Literal.number(0))


def populations(moment: Callable[[Sums], exp.Expr]) -> Callable[[Sums], exp.Expr]:
    return lambda sums: guarded(over(moment(sums), double(sums.n)), few(sums, 0))


def samples(moment: Callable[[Sums], exp.Expr]) -> Callable[[Sums], exp.Expr]:
    def formula(sums: Sums) -> exp.Expr:
        return guarded(over(moment(sums), double(minus(sums.n, exp.Literal.number(1)))), few(sums, 1))

    return formula


def root(formula: Callable[[Sums], exp.Expr]) -> Callable[[Sums], exp.Expr]:
    return lambda sums: exp.Sqrt(this=formula(sums))


def whole(moment: Callable[[Sums], exp.Expr]) -> Callable[[Sums], exp.Expr]:
    return lambda sums: guarded(moment(sums), few(sums, 0))


def corr(sums: Sums) -> exp.Expr:
    return guarded(over(sums.sxy(), exp.Sqrt(this=times(sums.sxx(), sums.syy()))), few(sums, 1))


# REGR functions have (y, x): here the first argument is called x and the second y, so the roles are exchanged


def slope(sums: Sums) -> exp.Expr:
    return guarded(over(sums.sxy(), sums.syy()), few(sums, 0), zero(sums.syy()))


def intercept(sums: Sums) -> exp.Expr:
    mean_x = over(scaled(double(sums.x), sums.x_scale), double(sums.n))
    mean_y = over(scaled(double(sums.y), sums.y_scale), double(sums.n))
    value = minus(mean_x, times(over(sums.sxy(), sums.syy()), mean_y))
    return guarded(value, few(sums, 0), zero(sums.syy()))


def determination(sums: Sums) -> exp.Expr:
    one = double(exp.Literal.number(1))
    ratio = over(times(sums.sxy(), sums.sxy()), times(sums.sxx(), sums.syy()))
    return (
        exp.Case()
        .when(few(sums, 0), exp.Null())
        .when(zero(sums.syy()), exp.Null())
        .when(zero(sums.sxx()), one)
        .else_(ratio)
    )


FORMULAS: dict[str, Callable[[Sums], exp.Expr]] = {
    "var_pop": populations(Sums.sxx),
    "var_samp": samples(Sums.sxx),
    "variance": samples(Sums.sxx),
    "stddev_pop": root(populations(Sums.sxx)),
    "stddev_samp": root(samples(Sums.sxx)),
    "stddev": root(samples(Sums.sxx)),
    "std": root(samples(Sums.sxx)),
    "covar_pop": populations(Sums.sxy),
    "covar_samp": samples(Sums.sxy),
    "corr": corr,
    "regr_sxx": whole(Sums.syy),
    "regr_syy": whole(Sums.sxx),
    "regr_sxy": whole(Sums.sxy),
    "regr_slope": slope,
    "regr_intercept": intercept,
    "regr_r2": determination,
}


def arguments(call: Scalar) -> tuple[Scalar, ...]:
    """The one or two arguments of a call that is derived from sums; none if it is no such call."""
    found = Call.of(call.tree)
    if found is None or found.name not in FORMULAS or found.distinct or found.condition is not None:
        return ()
    return tuple(Scalar(a) for a in found.arguments)


def typed(measure: str, place: int) -> str:
    """The name under which the type of an argument is asked for."""
    return f"{PREFIX}{place}_{measure}"


def scale(type_: str) -> int | None:
    """The digits after the point of an exact type whose squares can be summed exactly; None of any other type."""
    if type_ in ("tinyint", "smallint", "int", "bigint"):
        return 0
    match = re.fullmatch(r"decimal\((\d+),(\d+)\)", type_)
    return int(match[2]) if match is not None and int(match[1]) <= WIDE else None


def unscaled(tree: exp.Expr, digits: int) -> exp.Expr:
    """The number as an integer."""
    value = times(tree, exp.Literal.number(10**digits)) if digits else tree.copy()
    return exp.cast(value, "decimal(20,0)", dialect="spark")


def product(a: exp.Expr, b: exp.Expr) -> Scalar:
    return Scalar(times(a, b))
