"""Capture of attached tables: each new commit of the source becomes one tick, its rows go to the change log."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from rollview.capture.evolve import evolve, followed
from rollview.capture.iceberg import IcebergCapture, SourceCommit
from rollview.catalog import ControlStore, Lease, TableChange
from rollview.catalog.stored import Stored, stored
from rollview.errors import SourceError
from rollview.lake.lake import Lake
from rollview.names import COUNT, PROPERTY_TICK, TICK
from rollview.plan.emit import ident, sql
from rollview.steps import reached


def source_of(name: str) -> str:
    return f"iceberg:{name.lower()}"


def attach(control: ControlStore, name: str, snapshot: int) -> int:
    """The tick from which the table is known: its present snapshot, without copying a row."""
    with control.leases.hold("writer", wait=120.0) as lease:
        tick = control.ticks.open_tick(lease, source_of(name))
        changes = {name: TableChange(0, 0, snapshot_id=snapshot)}
        control.ticks.commit_tick(lease, tick, position=str(snapshot), committed_at=datetime.now(UTC), tables=changes)
    return tick


def reader_of(lake: Lake, table: Stored) -> IcebergCapture:
    """The one reader of an attached table."""
    name = table.definition["table"]
    if name not in lake.readers:
        lake.readers[name] = IcebergCapture(lake.spark, name)
    return lake.readers[name]


class Attached:
    """Captures attached tables."""

    def __init__(self, lake: Lake, control: ControlStore) -> None:
        self.lake = lake
        self.control = control

    def capture(self, name: str, *, over_gaps: bool = False) -> None:
        """Bring the change log up to the source. With `over_gaps`, or if no view reads the table, go on where snapshots
        have expired: what changed there is not known, and views across it are recomputed."""
        table = stored(self.control.relations.get(name))
        reader = reader_of(self.lake, table)
        if reader.position() == last_snapshot(self.control, table):
            return
        with self.control.leases.hold("writer", wait=120.0) as lease:
            table = stored(self.control.relations.get(name))
            try:
                for commit in reader.commits_since(last_snapshot(self.control, table)):
                    table = evolve(self.lake, self.control, table, commit.columns)
                    take(self.lake, self.control, lease, table, commit)
            except SourceError as error:
                unread = not self.control.relations.dependents_of(name)
                if error.code != "RV-SNAPSHOT-EXPIRED" or not (over_gaps or unread):
                    raise
                position = reader.position()
                table = evolve(self.lake, self.control, table, reader.columns())
                table = jump(self.control, lease, table, position)
            self.control.relations.update_definition(name, {**table.definition, "bytes": reader.size()})


def last_snapshot(control: ControlStore, table: Stored) -> int | None:
    return control.ticks.snapshot_of(table.name, control.ticks.last_tick())


def jump(control: ControlStore, lease: Lease, table: Stored, snapshot: int) -> Stored:
    """A tick at which the table is another, nobody knows by which changes. The break is noted before it is true."""
    tick = control.ticks.open_tick(lease, source_of(table.name))
    breaks = [*table.definition.get("breaks", ()), tick]
    relation = control.relations.update_definition(table.name, {**table.definition, "breaks": breaks})
    reached("capture.broken")
    changes = {table.name: TableChange(0, 0, snapshot_id=snapshot)}
    control.ticks.commit_tick(lease, tick, position=str(snapshot), committed_at=datetime.now(UTC), tables=changes)
    return stored(relation)


def take(lake: Lake, control: ControlStore, lease: Lease, table: Stored, commit: SourceCommit) -> None:
    tick = control.ticks.open_tick(lease, source_of(table.name))
    reached("capture.opened")
    inserted, deleted = commit.inserted or 0, commit.deleted or 0
    names = {c.name: n for n, c in followed(table, commit.columns).items() if c is not None}
    properties = {PROPERTY_TICK: str(tick)}
    if commit.rows is not None:
        rows = commit.rows.select([*names, COUNT]).rename_columns([*names.values(), COUNT])
        stamped = rows.append_column(TICK, pa.array(np.full(rows.num_rows, tick), pa.int64()))
        lake.append_small(table.log, stamped, properties)
    elif commit.frame is not None:
        quoted = [sql(ident(n)) for n in (*names, COUNT)]
        renamed = commit.frame.select(*quoted).toDF(*names.values(), COUNT)
        lake.append_delta(table.log, renamed, tick, properties)
        if commit.inserted is None or commit.deleted is None:
            logged = lake.commit(table.log)
            inserted = deleted = logged.number("added-records") if logged is not None else 1
    reached("capture.logged")
    control.ticks.commit_tick(
        lease,
        tick,
        position=str(commit.snapshot_id),
        committed_at=commit.committed_at,
        tables={table.name: TableChange(inserted, deleted, snapshot_id=commit.snapshot_id)},
    )
    reached("capture.committed")
