"""What a refresh, a verification and an explanation tell the user; readable on a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import Any


def html_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(h)}</th>" for h in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(v))}</td>" for v in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True, slots=True)
class Report:
    """One refresh. `strategy` is "incremental", "recompute" or "none"; `reason` is a code, or None."""

    view: str
    strategy: str
    reason: str | None
    since: int
    upto: int
    delta_rows: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    seconds: float = 0.0
    phases: Mapping[str, float] = field(default_factory=dict)
    jobs: int | None = 0
    predicted: float | None = None
    rederived: int = 0
    """groups that were derived anew from the base tables, because the change table could not tell their values"""

    def with_part(self, part: Report) -> Report:
        """The refresh of the view and of a part of it, as one."""
        phases = {**self.phases, "parts": self.phases.get("parts", 0.0) + part.seconds}
        jobs = None if self.jobs is None or part.jobs is None else self.jobs + part.jobs
        rederived = self.rederived + part.rederived
        return replace(self, seconds=self.seconds + part.seconds, phases=phases, jobs=jobs, rederived=rederived)

    def __repr__(self) -> str:
        why = f" ({self.reason})" if self.reason else ""
        return (
            f"<Report {self.view}: {self.strategy}{why}, ticks {self.since}→{self.upto}, "
            f"{self.delta_rows} changed rows, +{self.inserted} ~{self.updated} -{self.deleted}, "
            f"{self.seconds:.3f} s, {self.jobs} jobs>"
        )

    def _repr_html_(self) -> str:
        return html_table(["field", "value"], list(self.as_dict().items()))

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Verification:
    """The stored view against its recompute at the same tick: rows that it lacks, rows that it should not have."""

    view: str
    tick: int
    rows: int
    missing: Sequence[tuple[Any, ...]]
    extra: Sequence[tuple[Any, ...]]
    columns: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.missing and not self.extra

    def __repr__(self) -> str:
        if self.ok:
            return f"<Verification {self.view} at tick {self.tick}: ok, {self.rows} rows>"
        return (
            f"<Verification {self.view} at tick {self.tick}: DIFFERS, "
            f"{len(self.missing)} missing {list(self.missing)[:3]}, "
            f"{len(self.extra)} extra {list(self.extra)[:3]}>"
        )

    def _repr_html_(self) -> str:
        rows = [("missing", *r) for r in self.missing] + [("extra", *r) for r in self.extra]
        return f"<p>{escape(repr(self))}</p>" + html_table(["", *self.columns], rows)


class Listing(list[dict[str, Any]]):
    """Rows of status or history: a list of dicts that shows itself as a table."""

    def __repr__(self) -> str:
        if not self:
            return "(nothing)"
        header = list(self[0])
        cells = [[shown(row.get(h)) for h in header] for row in self]
        widths = [max(len(h), *(len(c[i]) for c in cells)) for i, h in enumerate(header)]
        lines = [header, ["─" * w for w in widths], *cells]
        return "\n".join("  ".join(v.ljust(w) for v, w in zip(line, widths, strict=True)).rstrip() for line in lines)

    def _repr_html_(self) -> str:
        header = list(self[0]) if self else []
        return html_table(header, [[shown(r.get(h)) for h in header] for r in self])


def shown(value: Any) -> str:
    if value is None:
        return "—"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
