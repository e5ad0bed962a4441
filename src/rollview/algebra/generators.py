"""The rows that a generator makes of one row, for the interpreter. Arrays are tuples, structs are tuples, maps are
tuples of pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rollview.algebra.evaluate import Compiled, Row, build

if TYPE_CHECKING:
    from rollview.algebra.scalar import Scalar

Made = Callable[[Row], list[Row]]


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
