"""Golden files: what a view is stored as and how it is maintained, or why it is refused.

A file starts with comments: what it shows, and ``-- changes: table kind kind, …`` with the kinds insert, delete and
update. Then the view's SQL. All below the mark is generated, by ``pytest --regenerate-golden``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.golden.schema import TABLES
from tests.law import Subject

from rollview.errors import RollviewError
from rollview.plan import rederive
from rollview.plan.emit import emit, sql, table
from rollview.plan.extent import Extent
from rollview.plan.maintain import maintain
from rollview.plan.stages import EXTENT
from rollview.rules.dispatch import Shape

if TYPE_CHECKING:
    from pathlib import Path

    from sqlglot import exp

    from rollview.algebra.relation import Relation, Scan
    from rollview.plan.group_reserve import GroupReserve

MARK = "\n-- generated --------------------------------------------------------------------------\n"


@dataclass(frozen=True)
class Golden:
    """The hand-written part of a file, taken apart."""

    head: str
    view: str
    shapes: dict[str, Shape]

    @classmethod
    def read(cls, path: Path) -> Golden:
        head = path.read_text().split(MARK)[0].rstrip() + "\n"
        changes = re.search(r"^-- changes: (.*)$", head, re.MULTILINE)
        view = "\n".join(line for line in head.splitlines() if not line.startswith("--")).strip()
        return cls(head, view, dict(map(shape, changes[1].split(", "))) if changes else {})

    def subject(self) -> Subject:
        return Subject.of(self.view, TABLES)

    def generated(self) -> str:
        try:
            subject = self.subject()
        except RollviewError as error:
            return f"-- {type(error).__name__}\n" + "".join(f"-- {line}\n" for line in str(error).splitlines())
        extent = subject.view.extent
        plan = maintenance(subject, self.shapes)
        notes = "".join(f"-- note {note}\n" for note in subject.view.notes)
        how = "none: no row can change" if plan is None else plan[0]
        return (
            f"-- {extent.kind.value} extent, by {', '.join(extent.key) or 'nothing'}\n{notes}{pretty(extent.rows)};\n\n"
            f"-- readers\n{pretty(extent.reader)};\n\n-- maintenance: {how}\n"
            + ("" if plan is None else f"{pretty(plan[1])};\n")
            + ("" if plan is None or not plan[2] else stages(extent, always=plan[3]))
            + ("" if plan is None or extent.group_reserve is None else reserves(extent.group_reserve))
        )


def stages(extent: Extent, *, always: bool) -> str:
    settled, fresh = rederive.settled(extent, always=always), rederive.rederived(extent)
    return f"\n-- settled: the changed groups\n{pretty(settled)};\n\n-- fresh: the suspect groups\n{pretty(fresh)};\n"


def reserves(reserve: GroupReserve) -> str:
    placed, anew = reserve.placed(), reserve.rederived()
    return f"\n-- what of it is stored\n{pretty(placed)};\n\n-- fresh: the suspect groups\n{pretty(anew)};\n"


def maintenance(subject: Subject, shapes: dict[str, Shape]) -> tuple[str, Relation, bool, bool] | None:
    reserve = subject.view.extent.reserve
    plan = maintain(subject.view, shapes, TABLES, bound=reserve.placeholders if reserve is not None else None)
    if plan.change is None:
        return None
    kind = "change table" if plan.kind.value == "aggregate" else "insertions" if plan.inserts_only else "net delta"
    return kind, plan.change, plan.rederives, plan.always


def shape(text: str) -> tuple[str, Shape]:
    name, *kinds = text.split()
    return name, Shape(inserts="insert" in kinds, deletes="delete" in kinds, updates="update" in kinds)


def bind(scan: Scan) -> exp.Table:
    return table(EXTENT) if scan.table == EXTENT else table(scan.at.value, scan.table)


def pretty(node: Relation) -> str:
    return sql(emit(node, bind), pretty=True)
