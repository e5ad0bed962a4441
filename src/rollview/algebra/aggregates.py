"""The meaning of the aggregate functions, on the values of one group. Exact where numbers can be."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

from rollview.algebra.call import Call
from rollview.algebra.evaluate import Compiled, Row, build, compile_scalar
from rollview.algebra.relation import Function, Measure

Members = list[tuple[Row, int]]
"""the rows of a group with their multiplicities"""
Inputs = list[tuple[Any, int]]
"""non-NULL values with their multiplicities"""
Values = list[Any]


@lru_cache(maxsize=10_000)
def compile_measure(measure: Measure, names: tuple[str, ...]) -> Callable[[Members], Any]:
    """A function from a group's rows to the value of the measure."""
    if measure.function is Function.CALL:
        assert measure.argument is not None
        call = Call.of(measure.argument.tree)
        assert call is not None
        return compile_call(call, {name: i for i, name in enumerate(names)})
    argument = compile_scalar(measure.argument, names) if measure.argument is not None else None

    def evaluate(members: Members) -> Any:
        inputs: list[tuple[Any, int]] = [(argument(r) if argument else True, n) for r, n in members]
        return KNOWN[measure.function]([(v, n) for v, n in inputs if v is not None])

    return evaluate


def total(inputs: Inputs) -> Any:
    return sum(v * n for v, n in inputs) if inputs else None


def average(inputs: Inputs) -> Any:
    return plain(Fraction(total(inputs)) / sum(n for _, n in inputs)) if inputs else None


KNOWN: dict[Function, Callable[[Inputs], Any]] = {
    Function.COUNT: lambda inputs: sum(n for _, n in inputs),
    Function.SUM: total,
    Function.AVG: average,
    Function.MIN: lambda inputs: min((v for v, _ in inputs), default=None),
    Function.MAX: lambda inputs: max((v for v, _ in inputs), default=None),
    Function.BIT_XOR: lambda inputs: reduce(operator.xor, (v for v, n in inputs if n % 2), 0) if inputs else None,
}


def plain(number: Fraction) -> Any:
    """A whole number as an int, so that equal numbers look alike."""
    return int(number) if number.denominator == 1 else number


def compile_call(call: Call, where: dict[str, int]) -> Callable[[Members], Any]:
    """Rows that the condition leaves, their arguments (and the order's), each as often as it occurs."""
    condition = build(call.condition, where) if call.condition is not None else None
    arguments: list[Compiled] = [build(a, where) for a in call.arguments]
    order = [(build(o.this, where), bool(o.args.get("desc"))) for o in call.order]
    function = FUNCTIONS[call.name]

    def evaluate(members: Members) -> Any:
        kept = [(r, n) for r, n in members if condition is None or condition(r) is True]
        rows = [(tuple(a(r) for a in arguments), tuple(o(r) for o, _ in order)) for r, n in kept for _ in range(n)]
        if call.distinct:
            rows = list(dict.fromkeys(rows))
        rows = [row for row in rows if call.name in TAKE_NULLS or (row[0] or row[1])[0] is not None]
        for i, (_, descending) in reversed(list(enumerate(order))):
            rows.sort(key=lambda row: (row[1][i] is not None, row[1][i]), reverse=descending)
        value = function(rows)
        if call.sorted and call.descending:
            return tuple(reversed(value))
        return value

    return evaluate


Ordered = Sequence[tuple[Row, Row]]
"""(arguments, order) of each row, sorted by the order"""


TAKE_NULLS = ("min_by", "max_by")
"""functions that do not ignore a NULL in their first argument"""


def singles(rows: Ordered) -> Values:
    """The first argument of each row, or what it is ordered by if there is none."""
    return [(a or o)[0] for a, o in rows]


def moment(xs: Values, ys: Values) -> Fraction:
    """Σ (x - x̄)(y - ȳ)."""
    n = len(xs)
    return sum((Fraction(x) * Fraction(y) for x, y in zip(xs, ys, strict=True)), Fraction(0)) - Fraction(
        Fraction(sum(xs)) * Fraction(sum(ys)), n
    )


def spread(divisor: Callable[[int], int], *, root: bool = False) -> Callable[[Ordered], Any]:
    """The variance family: Σ (x - x̄)² over n or n - 1, or its root."""

    def evaluate(rows: Ordered) -> Any:
        xs = singles(rows)
        if not xs or divisor(len(xs)) == 0:
            return None
        value = moment(xs, xs) / divisor(len(xs))
        return math.sqrt(value) if root else plain(value)

    return evaluate


def paired(function: Callable[[Values, Values], Any]) -> Callable[[Ordered], Any]:
    """Of the rows in which both arguments are there; NULL if there are none."""

    def evaluate(rows: Ordered) -> Any:
        both = [a for a, _ in rows if None not in a]
        if not both:
            return None
        value = function([a[0] for a in both], [a[1] for a in both])
        return plain(value) if isinstance(value, Fraction) else value

    return evaluate


def correlation(xs: Values, ys: Values) -> Any:
    if len(xs) == 1:
        return None
    return Fraction(moment(xs, ys)) / Fraction(math.sqrt(moment(xs, xs) * moment(ys, ys)))


def slope(ys: Values, xs: Values) -> Any:
    return None if not moment(xs, xs) else moment(xs, ys) / moment(xs, xs)


def intercept(ys: Values, xs: Values) -> Any:
    found = slope(ys, xs)
    return None if found is None else (Fraction(sum(ys)) - found * Fraction(sum(xs))) / len(xs)


def determination(ys: Values, xs: Values) -> Any:
    sxx, syy, sxy = moment(xs, xs), moment(ys, ys), moment(xs, ys)
    if not sxx:
        return None
    return Fraction(1) if not syy else sxy * sxy / (sxx * syy)


def interpolated(values: Values, share: Any) -> Any:
    """The exact percentile of sorted values."""
    if not values:
        return None
    place = Fraction(share) * (len(values) - 1)
    low, high = values[math.floor(place)], values[math.ceil(place)]
    return plain(low + (place - math.floor(place)) * (high - low))


def percentile_cont(rows: Ordered) -> Any:
    return interpolated([o[0] for _, o in rows if o[0] is not None], rows[0][0][0]) if rows else None


def percentile_disc(rows: Ordered) -> Any:
    values = [o[0] for _, o in rows if o[0] is not None]
    return values[max(0, math.ceil(Fraction(rows[0][0][0]) * len(values)) - 1)] if values else None


def most_frequent(rows: Ordered) -> Any:
    """The least of the most frequent values."""
    counts = Counter(singles(rows))
    return min((v for v, n in counts.items() if n == max(counts.values())), default=None)


def by(pick: Callable[..., Any]) -> Callable[[Ordered], Any]:
    """min_by, max_by: the value beside the extreme; a NULL value counts, a NULL to compare by does not."""
    return lambda rows: pick((a for a, _ in rows if a[1] is not None), key=lambda a: a[1], default=(None,))[0]


def text(rows: Ordered) -> Any:
    separator = rows[0][0][1] if rows and len(rows[0][0]) > 1 else ""
    return separator.join(str(v) for v in singles(rows)) if rows else None


FUNCTIONS: dict[str, Callable[[Ordered], Any]] = {
    "count": lambda rows: sum(None not in a for a, _ in rows),
    "sum": lambda rows: total([(v, 1) for v in singles(rows)]),
    "avg": lambda rows: average([(v, 1) for v in singles(rows)]),
    "approx_count_distinct": lambda rows: len(set(singles(rows))),
    "var_pop": spread(lambda n: n),
    "var_samp": spread(lambda n: n - 1),
    "variance": spread(lambda n: n - 1),
    "stddev_pop": spread(lambda n: n, root=True),
    "stddev_samp": spread(lambda n: n - 1, root=True),
    "stddev": spread(lambda n: n - 1, root=True),
    "std": spread(lambda n: n - 1, root=True),
    "covar_pop": paired(lambda xs, ys: moment(xs, ys) / len(xs)),
    "covar_samp": paired(lambda xs, ys: moment(xs, ys) / (len(xs) - 1) if len(xs) > 1 else None),
    "corr": paired(correlation),
    "regr_sxx": paired(lambda ys, xs: moment(xs, xs)),
    "regr_syy": paired(lambda ys, xs: moment(ys, ys)),
    "regr_sxy": paired(lambda ys, xs: moment(xs, ys)),
    "regr_slope": paired(slope),
    "regr_intercept": paired(intercept),
    "regr_r2": paired(determination),
    "bit_and": lambda rows: reduce(operator.and_, singles(rows)) if rows else None,
    "bit_or": lambda rows: reduce(operator.or_, singles(rows)) if rows else None,
    "median": lambda rows: interpolated(sorted(singles(rows)), Fraction(1, 2)),
    "percentile": lambda rows: interpolated(sorted(singles(rows)), rows[0][0][1]) if rows else None,
    "percentile_cont": percentile_cont,
    "percentile_disc": percentile_disc,
    "mode": most_frequent,
    "min_by": by(min),
    "max_by": by(max),
    "collect_list": lambda rows: tuple(sorted(singles(rows))),
    "array_agg": lambda rows: tuple(sorted(singles(rows))),
    "collect_set": lambda rows: tuple(sorted(set(singles(rows)))),
    "listagg": text,
    "string_agg": text,
}
