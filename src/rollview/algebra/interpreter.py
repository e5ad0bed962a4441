"""The executable definition of every operator, on small in-memory bags.

A bag is a Counter of rows. Rules are tested against this; it is never used to maintain anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from rollview.algebra.evaluate import Row, compile_scalar
from rollview.algebra.relation import (
    Aggregate,
    Filter,
    Function,
    Join,
    Measure,
    Project,
    Relation,
    Scan,
    SemiJoin,
    State,
    UnionAll,
)
from rollview.algebra.scalar import Scalar, conjuncts, equated

Bag = Counter[Row]
Source = Callable[[str, State], tuple[tuple[str, ...], Bag]]
"""(table, state) → its column names and rows; signed states have `__count` as the last column."""


def evaluate(node: Relation, source: Source) -> Bag:
    """The rows of a relation, given the rows of the base tables."""
    match node:
        case Scan():
            return scan(node, source)
        case Filter():
            test = compile_scalar(node.predicate, node.source.names)
            return Counter({r: n for r, n in evaluate(node.source, source).items() if test(r) is True})
        case Project():
            functions = [compile_scalar(e, node.source.names) for _, e in node.columns]
            result: Bag = Counter()
            for row, n in evaluate(node.source, source).items():
                result[tuple(f(row) for f in functions)] += n
            return result
        case Join():
            return join(node, evaluate(node.left, source), evaluate(node.right, source))
        case SemiJoin():
            test = compile_scalar(node.predicate, node.left.names + node.right.names)
            partners = list(evaluate(node.right, source))
            rows = evaluate(node.left, source)
            return Counter({r: n for r, n in rows.items() if any(test(r + p) is True for p in partners)})
        case UnionAll():
            total: Bag = Counter()
            for part in node.inputs:
                total.update(evaluate(part, source))
            return total
        case Aggregate():
            return aggregate(node, evaluate(node.source, source))


def scan(node: Scan, source: Source) -> Bag:
    names, rows = source(node.table, node.at)
    wanted = [names.index(column) for column, _ in node.columns]
    if node.at.signed:
        wanted.append(len(names) - 1)
    result: Bag = Counter()
    for row, n in rows.items():
        result[tuple(row[i] for i in wanted)] += n
    return result


def join(node: Join, left: Bag, right: Bag) -> Bag:
    """Nested loops, hashed on the first equality there is."""
    parts = conjuncts(node.predicate)
    tests = [compile_scalar(p, node.names) for p in parts]
    pair = next((p for p in (sides(c, node) for c in parts) if p), None)
    result: Bag = Counter()
    if pair is None:
        buckets = {None: list(right.items())}
    else:
        buckets = {}
        for item in right.items():
            buckets.setdefault(item[0][pair[1]], []).append(item)
    for row, n in left.items():
        for other, m in buckets.get(None if pair is None else row[pair[0]], ()):
            both = row + other
            if all(test(both) is True for test in tests):
                result[both] += n * m
    return result


def sides(predicate: Scalar, node: Join) -> tuple[int, int] | None:
    pair = equated(predicate)
    if pair is None:
        return None
    a, b = pair
    if a in node.right.names:
        a, b = b, a
    if a in node.left.names and b in node.right.names:
        return node.left.names.index(a), node.right.names.index(b)
    return None


def aggregate(node: Aggregate, rows: Bag) -> Bag:
    names = node.source.names
    keys = [compile_scalar(e, names) for _, e in node.keys]
    arguments = [compile_scalar(m.argument, names) if m.argument is not None else None for m in node.measures]
    groups: dict[Row, list[tuple[Row, int]]] = {} if node.grouped else {(): []}
    for row, n in rows.items():
        if n:
            groups.setdefault(tuple(k(row) for k in keys), []).append((row, n))
    result: Bag = Counter()
    for key, members in groups.items():
        values = []
        for measure, argument in zip(node.measures, arguments, strict=True):
            inputs = [(argument(r) if argument else True, n) for r, n in members]
            values.append(measure_value(measure, [(v, n) for v, n in inputs if v is not None]))
        result[key + tuple(values)] += 1
    return result


def measure_value(measure: Measure, inputs: list[tuple[Any, int]]) -> Any:
    """`inputs` are the non-NULL arguments with their multiplicities."""
    if measure.function is Function.COUNT:
        return sum(n for _, n in inputs)
    if not inputs:
        return None
    total = sum(v * n for v, n in inputs)
    if measure.function is Function.SUM:
        return total
    average = Fraction(total) / sum(n for _, n in inputs)
    return int(average) if average.denominator == 1 else average


def tables_source(tables: Mapping[tuple[str, State], Bag], columns: Mapping[str, tuple[str, ...]]) -> Source:
    """A source over given bags."""
    return lambda table, state: (columns[table], tables[table, state])
