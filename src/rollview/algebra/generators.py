"""The rows that a generator makes of one row, for the interpreter. Arrays are tuples, structs are tuples, maps are
tuples of pairs."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rollview.algebra.evaluate import Compiled, Row, build

if TYPE_CHECKING:
    from rollview.algebra.scalar import Scalar

Made = Callable[[Row], list[Row]]

TIME_WINDOW = "window"
"""the one generator that SQL calls in a SELECT list or GROUP BY only"""


def compile_generator(generator: Scalar, names: tuple[str, ...]) -> Made:
    """A function from a row to the new columns of each row made of it."""
    where = {name: i for i, name in enumerate(names)}
    arguments = [build(a, where) for a in generator.tree.expressions]
    match generator.tree.name.lower():
        case "explode":
            return lambda row: [(v,) for v in arguments[0](row) or ()]
        case "posexplode":
            return lambda row: [(i, v) for i, v in enumerate(arguments[0](row) or ())]
        case "inline":
            return lambda row: list(arguments[0](row) or ())
        case "stack":
            return stack(arguments)
        case "window":
            return time_windows(arguments)
        case name:
            raise NotImplementedError(f"the interpreter does not know {name}")


def stack(arguments: list[Compiled]) -> Made:
    """stack(n, v₁, …): n rows, filled row by row, the last one with NULLs."""

    def made(row: Row) -> list[Row]:
        height, *values = (a(row) for a in arguments)
        width = -(-len(values) // height)
        padded = [*values, *[None] * (width * height - len(values))]
        return [tuple(padded[i * width : (i + 1) * width]) for i in range(height)]

    return made


def time_windows(arguments: list[Compiled]) -> Made:
    """window(t, width, slide, start): every (s, s + width) with s = start + i · slide and s <= t < s + width."""

    def made(row: Row) -> list[Row]:
        moment, *given = (a(row) for a in arguments)
        if moment is None:
            return []
        width = span(given[0])
        slide = span(given[1]) if len(given) > 1 else width
        epoch = datetime(1970, 1, 1, tzinfo=UTC if moment.tzinfo else None)
        start = epoch + span(given[2]) if len(given) > 2 else epoch
        last = moment - (moment - start) % slide
        count = -(-width // slide)
        starts = (last - i * slide for i in range(count))
        return [((s, s + width),) for s in starts if moment < s + width]

    return made


def span(text: str) -> timedelta:
    """`2 hours 30 minutes`, of the units that Python knows as well."""
    return timedelta(**{f"{unit.lower().removesuffix('s')}s": int(n) for n, unit in re.findall(r"(\d+) (\w+)", text)})
