"""Errors say whose fault it is by their type, and help by their fields.

Every error carries a stable `code` (RV-…), a `position` in the SQL where there is one, and a `hint` that
names the way out. No message ever contains credentials or row data beyond a few key values.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the user's SQL: 1-based line and column."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class RollviewError(Exception):
    """The root of every error that rollview raises on purpose."""

    def __init__(self, message: str, *, code: str, position: Position | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.position = position
        self.hint = hint

    def __str__(self) -> str:
        place = f" at {self.position}" if self.position else ""
        hint = f"\nHint: {self.hint}" if self.hint else ""
        return f"[{self.code}]{place} {self.message}{hint}"


class UnsupportedView(RollviewError):
    """The user's SQL cannot be maintained as asked, and never will be."""


class RecomputeRefused(UnsupportedView):
    """A strict view can only be recomputed, and strict forbids that."""


class NotYetSupported(RollviewError):
    """Legal SQL whose incremental maintenance is not built yet."""


class BadInput(RollviewError):
    """The user gave something that does not fit: SQL, data, a name, an option."""


class SourceError(RollviewError):
    """A source refused or lost something; `retryable` says whether trying again may help."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        position: Position | None = None,
        hint: str | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message, code=code, position=position, hint=hint)
        self.retryable = retryable


class BrokenInvariant(RollviewError):
    """Ours: something that must hold does not. Please report it."""
