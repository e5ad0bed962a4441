"""Every generated identifier, made in one place."""

from __future__ import annotations

PREFIX = "__"
COUNT = "__count"
TICK = "__tick"
SIZE = "__size"
"""how many rows a stored group has, where `__count` is that of a change of it"""
USER_NAMESPACE = "default"
ENGINE_NAMESPACE = "__rollview"
CLOCK = "__clock"
"""the relation of one row that time filters read"""

PROPERTY_TICK = "rollview.tick"
PROPERTY_PLAN = "rollview.plan"
PROPERTY_VIEW = "rollview.view"
PROPERTY_SINCE = "rollview.since"
PROPERTY_EXACT = "rollview.exact"
PROPERTY_ASKED = "rollview.asked"
PROPERTY_RESERVE = "rollview.reserve"


def log_table(relation: str) -> str:
    """The change log of a table or view."""
    return f"{relation.lower()}__log"


def extent_table(view: str) -> str:
    """The stored rows of a view."""
    return f"{view.lower()}__extent"


def part_view(view: str, number: int) -> str:
    """Inner groups of a view that are stored as a view of their own."""
    return f"{PREFIX}{view.lower()}_part{number}"


def next_view(view: str, replaced: int) -> str:
    """What is built beside a view, by the id of the relation that it will replace; its tables keep this name."""
    return f"{PREFIX}{view.lower()}_next{replaced}"


def retired_view(view: str, replaced: int) -> str:
    """A relation that was replaced, while somebody may still read it."""
    return f"{PREFIX}{view.lower()}_was{replaced}"


def delta_view(relation: str, part: str) -> str:
    """The temporary view that binds (a part of) the delta of one span."""
    return f"{PREFIX}{part}_{relation.lower()}"


def hidden_key(column: str) -> str:
    """A key column that the user's view does not show but its extent needs."""
    return f"{PREFIX}key_{column}"


def hidden_column(column: str) -> str:
    """A column that a view does not show, but that readers compute something from."""
    return f"{PREFIX}hidden_{column}"


def order_column(number: int) -> str:
    """An expression of ORDER BY that a view does not show."""
    return f"{PREFIX}order{number}"


def group_column(number: int) -> str:
    """An expression of PARTITION BY that a view does not show."""
    return f"{PREFIX}group{number}"


def state_column(measure: str, part: str) -> str:
    """A companion of an aggregate: its sum, its count of non-NULL inputs …"""
    return f"{PREFIX}{part}_{measure}"


def is_reserved(name: str) -> bool:
    return name.startswith(PREFIX)
