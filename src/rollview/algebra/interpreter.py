"""The executable definition of every operator, on small in-memory bags.

A bag is a Counter of rows. Rules are tested against this; it is never used to maintain anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import itemgetter

from rollview.algebra.aggregates import compile_measure
from rollview.algebra.evaluate import Compiled, Row, compile_scalar
from rollview.algebra.generators import compile_generator
from rollview.algebra.relation import (
    Aggregate,
    AntiJoin,
    Filter,
    Generate,
    Join,
    MarkJoin,
    OuterJoin,
    Project,
    Recall,
    Recursion,
    Relation,
    Scan,
    SemiJoin,
    State,
    UnionAll,
    Values,
    Window,
)
from rollview.algebra.scalar import Scalar, conjuncts
from rollview.algebra.windows import windowed

Bag = Counter[Row]
Source = Callable[[str, State], tuple[tuple[str, ...], Bag]]
"""(table, state) → its column names and rows; signed states have `__count` as the last column."""
ROUNDS = 100
"""of a recursion that says nothing of it, at most; as in Spark"""


class RecursionLimit(ValueError):
    """A recursion that goes on and on."""


def evaluate(node: Relation, source: Source) -> Bag:
    """The rows of a relation, given the rows of the base tables; a shared part is evaluated once."""
    known: dict[int, Bag] = {}

    def rows(part: Relation) -> Bag:
        if id(part) not in known:
            known[id(part)] = operate(part, rows, source)
        return known[id(part)]

    return rows(node)


def operate(node: Relation, rows: Callable[[Relation], Bag], source: Source) -> Bag:
    """The operator itself; `rows` are those of its operands."""
    match node:
        case Scan():
            return scan(node, source)
        case Filter():
            test = compile_scalar(node.predicate, node.source.names)
            return Counter({r: n for r, n in rows(node.source).items() if test(r) is True})
        case Project():
            functions = [value_of(e, node.source.names) for _, e in node.columns]
            result: Bag = Counter()
            for row, n in rows(node.source).items():
                result[tuple(f(row) for f in functions)] += n
            return result
        case Join() | SemiJoin() | AntiJoin() | MarkJoin() | OuterJoin():
            return joined(node, rows(node.left), rows(node.right))
        case UnionAll():
            total: Bag = Counter()
            for part in node.inputs:
                total.update(rows(part))
            return total
        case Aggregate():
            return aggregate(node, rows(node.source))
        case Values():
            return Counter(tuple(compile_scalar(v, ())(()) for v in row) for row in node.rows)
        case Window():
            return windowed(node, rows(node.source))
        case Generate():
            return generate(node, rows(node.source))
        case Recall():
            return scan(Scan(node.of, node.columns, State.DELTA if node.signed else State.AFTER), source)
        case Recursion():
            return rounds(node, rows(node.source), source)


def rounds(node: Recursion, first: Bag, source: Source) -> Bag:
    """One round after the other."""
    total: Bag = Counter()
    here, most = nonzero(first), node.limit or ROUNDS
    for _ in range(most):
        if not here:
            return total
        total.update(here)
        here = nonzero(evaluate(node.step, recalling(node, here, source)))
    raise RecursionLimit(f"more than {most} rounds")


def recalling(node: Recursion, rows: Bag, source: Source) -> Source:
    return lambda table, state: (node.columns, rows) if table == node.of else source(table, state)


def nonzero(bag: Bag) -> Bag:
    return Counter({row: n for row, n in bag.items() if n})


def value_of(scalar: Scalar, names: tuple[str, ...]) -> Compiled:
    """Most columns of a projection are simply passed on."""
    return (
        itemgetter(names.index(scalar.column)) if scalar.size == 1 and scalar.column else compile_scalar(scalar, names)
    )


def scan(node: Scan, source: Source) -> Bag:
    names, rows = source(node.table, node.at)
    wanted = [names.index(column) for column, _ in node.columns]
    if node.at.signed:
        wanted.append(len(names) - 1)
    result: Bag = Counter()
    for row, n in rows.items():
        result[tuple(row[i] for i in wanted)] += n
    return result


def joined(node: Join | SemiJoin | AntiJoin | MarkJoin | OuterJoin, left: Bag, right: Bag) -> Bag:
    pairs = matches(node.left.names, node.right.names, node.predicate, left, right)
    if isinstance(node, Join):
        return pairs
    width = len(node.left.names)
    partnered = {row[:width] for row in pairs}
    if isinstance(node, SemiJoin):
        return Counter({r: n for r, n in left.items() if r in partnered})
    if isinstance(node, MarkJoin):
        return Counter({(*r, r in partnered): n for r, n in left.items()})
    alone: Bag = Counter({r: n for r, n in left.items() if r not in partnered})
    if isinstance(node, AntiJoin):
        return alone
    result = Counter(pairs)
    if node.keeps_left:
        padding = (None,) * len(node.right.names)
        result.update({r + padding: n for r, n in alone.items()})
    if node.keeps_right:
        padding = (None,) * width
        met = {row[width:] for row in pairs}
        result.update({padding + r: n for r, n in right.items() if r not in met})
    return result


def matches(
    left_names: tuple[str, ...], right_names: tuple[str, ...], predicate: Scalar | None, left: Bag, right: Bag
) -> Bag:
    """The pairs that satisfy the predicate: nested loops, hashed on the first equality there is."""
    tests, pair = compile_predicate(predicate, left_names, right_names)
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
            if n and m and all(test(both) is True for test in tests):
                result[both] += n * m
    return result


@lru_cache(maxsize=10_000)
def compile_predicate(
    predicate: Scalar | None, left_names: tuple[str, ...], right_names: tuple[str, ...]
) -> tuple[list[Compiled], tuple[int, int] | None]:
    """The tests of the predicate's conjuncts, and the places of the first two columns that it equates."""
    parts, names = conjuncts(predicate), left_names + right_names
    pair = next((p for p in (sides(c, left_names, right_names) for c in parts) if p), None)
    return [compile_scalar(p, names) for p in parts], pair


def sides(predicate: Scalar, left_names: tuple[str, ...], right_names: tuple[str, ...]) -> tuple[int, int] | None:
    pair = predicate.equated
    if pair is None:
        return None
    a, b = pair
    if a in right_names:
        a, b = b, a
    if a in left_names and b in right_names:
        return left_names.index(a), right_names.index(b)
    return None


def generate(node: Generate, rows: Bag) -> Bag:
    made = compile_generator(node.generator, node.source.names)
    nothing = [(None,) * len(node.columns)] if node.outer else []
    result: Bag = Counter()
    for row, n in rows.items():
        for new in made(row) or nothing:
            result[row + new] += n
    return result


def aggregate(node: Aggregate, rows: Bag) -> Bag:
    names = node.source.names
    keys = [value_of(e, names) for _, e in node.keys]
    measures = [compile_measure(m, names) for m in node.measures]
    groups: dict[Row, list[tuple[Row, int]]] = {} if node.grouped else {(): []}
    for row, n in rows.items():
        if n:
            groups.setdefault(tuple(k(row) for k in keys), []).append((row, n))
    result: Bag = Counter()
    for key, members in groups.items():
        result[key + tuple(measure(members) for measure in measures)] += 1
    return result


def tables_source(tables: Mapping[tuple[str, State], Bag], columns: Mapping[str, tuple[str, ...]]) -> Source:
    """A source over given bags."""
    return lambda table, state: (columns[table], tables[table, state])
