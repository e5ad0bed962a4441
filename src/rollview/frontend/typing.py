"""What the compiler asks of the outside: the types that Spark gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from rollview.algebra.relation import Relation
    from rollview.algebra.scalar import Scalar
    from rollview.algebra.schema import Schema


class Typer(Protocol):
    """Types of derived columns come from Spark, never from our own inference."""

    def query(self, sql: str) -> Schema:
        """The output columns of the user's text, named as Spark names them; raises BadInput if it refuses."""
        ...

    def relation(self, node: Relation) -> Schema:
        """The output columns of a relation over the base tables."""
        ...

    def generated(self, node: Relation, generator: Scalar) -> tuple[str, ...]:
        """The names that Spark gives the columns of a generator over a relation."""
        ...

    def pivoted(self, columns: Sequence[tuple[str, str]], pivot: exp.Pivot) -> Schema:
        """The output columns of a PIVOT or UNPIVOT of a table, whose columns are given with their types."""
        ...

    def is_builtin(self, function: str) -> bool:
        """Is this a deterministic-by-name function that Spark itself ships?"""
        ...
