"""How a view comes to be: its parts first, then what it reads starts to log, then its own rows at one tick."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rollview.algebra.relation import Aggregate, Recursion, Scan
from rollview.algebra.walking import scans, tables
from rollview.apply.fold import laid_out_by as sorted_by
from rollview.apply.fold import settle
from rollview.catalog import ControlStore
from rollview.catalog.stored import Stored, all_stored, bytes_of, stored
from rollview.errors import RollviewError
from rollview.lake.lake import Lake
from rollview.limits import Limits
from rollview.names import part_view
from rollview.plan.parts import references
from rollview.propagate.states import PRESENT
from rollview.registry import PATIENCE, Registry, plain
from rollview.report import Report
from rollview.status import ready
from rollview.views import Views

IN_ORDER = 0.25
"""what a scan of a table costs that is laid out by the groups, beside a search for groups that lie everywhere"""

Parts = Mapping[str, str]
"""by the texts of parts: the names under which they are stored, or why they are not"""


class Creation:
    """Makes views; the caller holds the name."""

    def __init__(
        self,
        lake: Lake,
        control: ControlStore,
        registry: Registry,
        views: Views,
        limits: Limits,
        refresh: Callable[[Sequence[str], int], None],
    ) -> None:
        self.lake = lake
        self.control = control
        self.registry = registry
        self.views = views
        self.limits = limits
        self.refresh = refresh
        """brings views, and those below them, to a tick"""

    def view(self, name: str, text: str, policy: str, replaces: str | None = None) -> Report:
        """The view; if it will replace another, everything but that."""
        parts, refused = self.parts(name, text, policy) if policy != "full" else ({}, {})
        known: dict[str, Any] = {"refused_parts": refused} if refused else {}
        return self.made(name, text, policy, parts, known | ({"replaces": replaces} if replaces else {}))

    def parts(self, view: str, text: str, policy: str) -> tuple[Parts, Parts]:
        """Store the inner groups that are worth it, the innermost first. Others stay derived, for the reason given."""
        made: dict[str, str] = {}
        refused: dict[str, str] = {}
        while (part := self.next_part(text, made, refused)) is not None:
            sql, groups = part
            reason = self.refusal(sql, policy)
            if reason is not None:
                refused[sql] = reason
                continue
            name = made[sql] = part_view(view, len(made) + 1)
            bases = {n: s.base for n, s in all_stored(self.control).items()}
            known = {"part_of": view.lower(), "foreign_keys": plain(references(groups, bases))}
            with self.registry.making(name, part=True):
                self.made(name, sql, policy, {}, known)
        return made, refused

    def refusal(self, part: str, policy: str) -> str | None:
        """Why groups are not stored. A sum that drifts must not: what is above compares it."""
        try:
            compiled, reason = self.views.check(part, policy, all_stored(self.control))
        except RollviewError as error:
            return error.code
        states = compiled.extent.states if compiled is not None else None
        return "RV-FLOAT-SUM" if states is not None and states.floating else reason

    def next_part(self, text: str, made: Parts, refused: Parts) -> tuple[str, Aggregate | Recursion] | None:
        relations = all_stored(self.control)
        found: list[tuple[str, Aggregate | Recursion]] = []

        def kept(part: str, groups: Aggregate | Recursion, whole: bool) -> str | None:
            if part not in made and part not in refused and self.worth(groups, relations, whole=whole):
                found.append((part, groups))
            return made.get(part)

        self.views.check(text, "incremental", relations, kept)
        return found[0] if found else None

    def worth(self, groups: Aggregate | Recursion, relations: Mapping[str, Stored], *, whole: bool) -> bool:
        """Is deriving groups so much work that storing all pays? In tables that are laid out by the group some of them
        are found without a search, and all of them by a scan that need not sort. A recursion is always stored: its
        change begins with all of its rows."""
        if any(relations[t].definition.get("access") == PRESENT for t in tables(groups)):
            return False
        if isinstance(groups, Recursion):
            return True
        keys = {e.column for _, e in groups.keys}
        together = IN_ORDER if whole else 0.0
        searched = sum(
            bytes_of(self.lake, relations[s.table]) * (together if keys & laid_out_by(s, relations[s.table]) else 1.0)
            for s in {s.table: s for s in scans(groups.source)}.values()
        )
        return searched >= self.limits.part_bytes

    def made(self, name: str, text: str, policy: str, parts: Parts, known: Mapping[str, Any]) -> Report:
        """Views below log their changes before the tick is chosen at which the new one starts."""
        relations = all_stored(self.control)
        checked = self.views.check(text, policy, relations, lambda part, *_: parts.get(part))
        reads = list(dict.fromkeys([*self.views.reads(text, relations), *parts.values()]))
        below = [n for n in reads if relations[n].relation.kind == "view"]
        for upstream in below:
            with self.registry.lease(upstream):
                self.views.start_logging(stored(ready(self.control, upstream, "view")), relations)
        tick = self.control.ticks.last_tick()
        if below:
            self.refresh(below, tick)
        relations = all_stored(self.control)
        for table in reads:
            if relations[table].relation.kind == "table":
                settle(self.lake, self.control, relations[table], tick, self.limits)

        def create(tick: int) -> Report:
            return self.views.create(
                name, text, policy, checked, relations, reads, tick, {**known, "parts": dict(parts)}
            )

        if any(relations[t].definition.get("access") == PRESENT for t in reads):
            with self.control.leases.hold("writer", wait=PATIENCE):  # so that the present stays at one tick
                return create(self.control.ticks.last_tick())
        return create(tick)


def laid_out_by(scan: Scan, relation: Stored) -> set[str | None]:
    """The name of the column that a table's rows are sorted by first, if it is known and read."""
    first = [c.lower() for c in sorted_by(relation)[:1]]
    return {name for column, name in scan.columns if column.lower() in first}
