"""Filters for pyiceberg, which prune files by their statistics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from pyiceberg import expressions

# pyiceberg's predicates take (column, value) at run time; their annotations describe the bound form only
_build: Any = expressions

Predicate = expressions.BooleanExpression


def everything() -> Predicate:
    return expressions.AlwaysTrue()


def equal(column: str, value: Any) -> Predicate:
    return _build.EqualTo(column, value)  # type: ignore[no-any-return]


def above(column: str, value: Any) -> Predicate:
    return _build.GreaterThan(column, value)  # type: ignore[no-any-return]


def at_most(column: str, value: Any) -> Predicate:
    return _build.LessThanOrEqual(column, value)  # type: ignore[no-any-return]


def between(column: str, low: Any, high: Any, *, nulls: bool = False) -> Predicate:
    """low <= column <= high, or NULL as well."""
    inside = _build.And(_build.GreaterThanOrEqual(column, low), _build.LessThanOrEqual(column, high))
    return _build.Or(inside, _build.IsNull(column)) if nulls else inside  # type: ignore[no-any-return]


def span(column: str, since: int, upto: int, without: Iterable[int] = ()) -> Predicate:
    """since < column <= upto, and none of the values `without`."""
    inside = _build.And(_build.GreaterThan(column, since), _build.LessThanOrEqual(column, upto))
    left_out = set(without)
    return _build.And(inside, _build.NotIn(column, left_out)) if left_out else inside  # type: ignore[no-any-return]


def either(options: Sequence[Predicate]) -> Predicate:
    return reduce(_build.Or, options)
