"""Capture of attached tables: each new commit of the source becomes one tick, its rows go to the change log."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from rollview.capture.iceberg import IcebergCapture, SourceCommit
from rollview.catalog import ControlStore, Lease, TableChange
from rollview.catalog.stored import Stored
from rollview.errors import SourceError
from rollview.lake.lake import Lake
from rollview.names import COUNT, PROPERTY_TICK, TICK
from rollview.steps import reached


def source_of(name: str) -> str:
    return f"iceberg:{name.lower()}"


def attach(control: ControlStore, name: str, snapshot: int | None) -> int:
    """The tick from which the table is known: its present snapshot, without copying a row."""
    with control.leases.hold("writer", wait=120.0) as lease:
        tick = control.ticks.open_tick(lease, source_of(name))
        changes = {name: TableChange(0, 0, snapshot_id=snapshot)}
        position = None if snapshot is None else str(snapshot)
        control.ticks.commit_tick(lease, tick, position=position, committed_at=datetime.now(UTC), tables=changes)
    return tick


class Attached:
    """Captures attached tables; keeps one reader per table, because readers remember the metadata they have read."""

    def __init__(self, lake: Lake, control: ControlStore) -> None:
        self.lake = lake
        self.control = control
        self.readers: dict[str, IcebergCapture] = {}

    def reader(self, table: str) -> IcebergCapture:
        return self.readers.setdefault(table, IcebergCapture(self.lake.spark, table))

    def capture(self, stored: Stored) -> int:
        """Bring the change log up to the source; returns the number of commits taken."""
        reader = self.reader(stored.definition["table"])
        if reader.latest() == last_snapshot(self.control, stored):
            return 0
        with self.control.leases.hold("writer", wait=120.0) as lease:
            taken = 0
            for commit in reader.commits_since(last_snapshot(self.control, stored)):
                check_schema(stored, commit)
                take(self.lake, self.control, lease, stored, commit)
                taken += 1
            known = {**stored.definition, "bytes": reader.size()}
            self.control.relations.update_definition(stored.name, known)
        return taken


def last_snapshot(control: ControlStore, stored: Stored) -> int | None:
    return control.ticks.snapshot_of(stored.name, control.ticks.last_tick())


def take(lake: Lake, control: ControlStore, lease: Lease, stored: Stored, commit: SourceCommit) -> None:
    tick = control.ticks.open_tick(lease, source_of(stored.name))
    reached("capture.opened")
    inserted, deleted = commit.inserted or 0, commit.deleted or 0
    names = [c.name for c in stored.base.columns]
    properties = {PROPERTY_TICK: str(tick)}
    if commit.rows is not None:
        rows = commit.rows.select([*names, COUNT])
        stamped = rows.append_column(TICK, pa.array(np.full(rows.num_rows, tick), pa.int64()))
        lake.append_small(stored.log, stamped, properties)
    elif commit.frame is not None:
        lake.append_delta(stored.log, commit.frame.select(*names, COUNT), tick, properties)
        if commit.inserted is None or commit.deleted is None:
            logged = lake.commit(stored.log)
            inserted = deleted = logged.number("added-records") if logged is not None else 1
    reached("capture.logged")
    control.ticks.commit_tick(
        lease,
        tick,
        position=str(commit.snapshot_id),
        committed_at=commit.committed_at,
        tables={stored.name: TableChange(inserted, deleted, snapshot_id=commit.snapshot_id)},
    )
    reached("capture.committed")


def check_schema(stored: Stored, commit: SourceCommit) -> None:
    """New columns are let be; a column that is gone or has another type stops the capture before anything is taken."""
    now = {c.name.lower(): c.type for c in commit.columns}
    for column in stored.base.columns:
        found = now.get(column.name.lower())
        if found is None or found != column.type:
            problem = "is gone" if found is None else f"was {column.type} and is {found}"
            raise SourceError(
                f"the column {column.name!r} of {stored.name} {problem}",
                code="RV-SCHEMA-CHANGED",
                hint="drop the views that read it, detach the table with drop_table, attach it again and recreate them",
            )
