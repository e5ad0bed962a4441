"""Window functions for the interpreter: partitions, order, frames, by the definition and without any cleverness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from rollview.algebra.evaluate import Compiled, Row, build

if TYPE_CHECKING:
    from rollview.algebra.relation import Window

Bag = Counter[Row]


def windowed(node: Window, rows: Bag) -> Bag:
    """Every row beside the values of its window functions; equal rows are told apart only by chance."""
    elements = sorted(rows.elements(), key=any_order)
    names = node.source.names
    columns = [values(tree.tree, names, elements) for _, tree in node.columns]
    return Counter(row + tuple(new) for row, *new in zip(elements, *columns, strict=True))


def any_order(row: Row) -> tuple[Any, ...]:
    return tuple((v is not None, str(type(v)), v if v is not None else 0) for v in row)


def values(tree: exp.Expr, names: tuple[str, ...], rows: Sequence[Row]) -> list[Any]:
    """The value of one window function for each of the rows."""
    where = {name: i for i, name in enumerate(names)}
    keys = [build(k, where) for k in tree.args.get("partition_by") or ()]
    partitions: dict[Row, list[int]] = {}
    for i, row in enumerate(rows):
        partitions.setdefault(tuple(k(row) for k in keys), []).append(i)
    result: list[Any] = [None] * len(rows)
    for members in partitions.values():
        place = Placed.of(tree, where, rows, members)
        for position, i in enumerate(place.order):
            result[i] = value(tree.this, where, rows, place, position)
    return result


@dataclass
class Placed:
    """One partition in order: the indexes of its rows, their order keys, and the frame of each position."""

    order: list[int]
    keys: list[Row]
    spec: exp.WindowSpec | None
    sorted: bool
    descending: bool

    @classmethod
    def of(cls, tree: exp.Expr, where: dict[str, int], rows: Sequence[Row], members: list[int]) -> Placed:
        clause = tree.args.get("order")
        ordered = clause.expressions if clause is not None else []
        keys = [build(o.this, where) for o in ordered]
        order = list(members)
        for o, key in reversed(list(zip(ordered, keys, strict=True))):
            order = arranged(order, rows, key, descending=bool(o.args.get("desc")), first=bool(o.args["nulls_first"]))
        found = [tuple(k(rows[i]) for k in keys) for i in order]
        descending = bool(ordered and ordered[0].args.get("desc"))
        return cls(order, found, tree.args.get("spec"), bool(ordered), descending)

    def peers(self, position: int) -> tuple[int, int]:
        """The first and the last position with the same order key."""
        same = [i for i, k in enumerate(self.keys) if k == self.keys[position]]
        return same[0], same[-1]

    def frame(self, position: int) -> range:
        last = len(self.order) - 1
        if self.spec is None:
            return range((self.peers(position)[1] if self.sorted else last) + 1)
        start = self.bound(position, "start", 0)
        end = self.bound(position, "end", last)
        return range(max(0, start), min(last, end) + 1)

    def bound(self, position: int, side: str, unbounded: int) -> int:
        assert self.spec is not None
        given, direction = self.spec.args.get(side), self.spec.args.get(f"{side}_side")
        if given is None or given == "CURRENT ROW":
            if self.spec.args["kind"] == "ROWS":
                return position
            return self.peers(position)[0 if side == "start" else 1]
        if given == "UNBOUNDED":
            return unbounded
        offset = int(given.name) * (-1 if direction == "PRECEDING" else 1)
        if self.spec.args["kind"] == "ROWS":
            return position + offset
        return self.by_value(position, offset, side)

    def by_value(self, position: int, offset: int, side: str) -> int:
        """RANGE with a distance: the rows whose key is at least, or at most, so far away; NULL is near NULL alone."""
        key = self.keys[position][0]
        if key is None:
            return self.peers(position)[0 if side == "start" else 1]
        sign = -1 if self.descending else 1
        limit = sign * key + offset
        inside = [
            i
            for i, (k,) in enumerate(self.keys)
            if k is not None and (sign * k >= limit if side == "start" else sign * k <= limit)
        ]
        if not inside:
            return len(self.keys) if side == "start" else -1
        return inside[0] if side == "start" else inside[-1]


def arranged(order: list[int], rows: Sequence[Row], key: Compiled, *, descending: bool, first: bool) -> list[int]:
    nulls = [i for i in order if key(rows[i]) is None]
    others = sorted((i for i in order if key(rows[i]) is not None), key=lambda i: key(rows[i]), reverse=descending)
    return nulls + others if first else others + nulls


def value(call: exp.Expr, where: dict[str, int], rows: Sequence[Row], place: Placed, position: int) -> Any:
    ignore = isinstance(call, exp.IgnoreNulls)
    if isinstance(call, exp.IgnoreNulls | exp.RespectNulls):
        call = call.this
    condition: Compiled | None = None
    if isinstance(call, exp.Filter):
        condition = build(call.args["expression"].this, where)
        call = call.this
    name = call.name.lower() if isinstance(call, exp.Anonymous) else call.key
    arguments = [build(a, where) for a in call.iter_expressions() if not isinstance(a, exp.Star)]
    if name in RANKS:
        return RANKS[name](place, position, [a(rows[0]) for a in arguments])
    if name in ("lag", "lead"):
        return shifted(arguments, rows, place, position, -1 if name == "lag" else 1, ignore=ignore)
    frame = [rows[place.order[i]] for i in place.frame(position)]
    frame = [r for r in frame if condition is None or condition(r) is True]
    inputs = [arguments[0](r) for r in frame] if arguments else [True] * len(frame)
    if name in ("first_value", "first", "last_value", "last"):
        known = [v for v in inputs if v is not None] if ignore else inputs
        return (known[0] if name.startswith("first") else known[-1]) if known else None
    if name == "nth_value":
        nth = arguments[1](rows[0])
        return inputs[nth - 1] if len(inputs) >= nth else None
    return AGGREGATES[name]([v for v in inputs if v is not None])


def shifted(
    arguments: list[Compiled], rows: Sequence[Row], place: Placed, position: int, direction: int, *, ignore: bool
) -> Any:
    """lag and lead: the row so many rows away, with IGNORE NULLS counting only rows that have a value."""
    offset = arguments[1](rows[0]) if len(arguments) > 1 else 1
    found, left = position, offset
    while left and 0 <= found + direction < len(place.order):
        found += direction
        left -= not ignore or arguments[0](rows[place.order[found]]) is not None
    if left:
        return arguments[2](rows[place.order[position]]) if len(arguments) > 2 else None
    return arguments[0](rows[place.order[found]])


def ntile(place: Placed, position: int, arguments: list[int]) -> int:
    tiles: int = arguments[0]
    size, more = divmod(len(place.order), tiles)
    large = more * (size + 1)
    return position // (size + 1) + 1 if position < large else more + (position - large) // size + 1


def average(known: list[Any]) -> Any:
    if not known:
        return None
    mean = Fraction(sum(known)) / len(known)
    return int(mean) if mean.denominator == 1 else mean


RANKS: dict[str, Callable[[Placed, int, list[Any]], Any]] = {
    "row_number": lambda place, position, _: position + 1,
    "rank": lambda place, position, _: place.peers(position)[0] + 1,
    "dense_rank": lambda place, position, _: len(set(place.keys[: place.peers(position)[0]])) + 1,
    "percent_rank": lambda place, position, _: (
        Fraction(place.peers(position)[0], len(place.order) - 1) if len(place.order) > 1 else 0
    ),
    "cume_dist": lambda place, position, _: Fraction(place.peers(position)[1] + 1, len(place.order)),
    "ntile": ntile,
}
AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "count": len,
    "sum": lambda known: sum(known) if known else None,
    "avg": average,
    "min": lambda known: min(known, default=None),
    "max": lambda known: max(known, default=None),
}
