"""Which states a table's main branch went through since the last captured one.

The snapshot log of the metadata is the branch's own record: every snapshot that main has pointed to, with the time.
A rollback is an entry like any other, and snapshots that were published together (a fast-forward, one transaction of
several operations) are one entry, because nobody saw the states between. Where the log does not reach back far enough,
the snapshot's ancestors tell the same story without rollbacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pyiceberg.table.snapshots import Operation, ancestors_of

from rollview.errors import SourceError

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

EMPTY = -1
"""The position of a table without a snapshot (Iceberg's own sign for it)."""


@dataclass(frozen=True, slots=True)
class Step:
    """Main moved from `before` to `after` (None: the empty table)."""

    before: Snapshot | None
    after: Snapshot | None
    committed_at: datetime
    before_expired: bool = False
    """`before` is gone, but `after` only appended to it."""
    keeps_rows: bool = False
    """Files were rewritten, rows were not: a compaction."""

    @property
    def position(self) -> int:
        return EMPTY if self.after is None else self.after.snapshot_id


def steps_since(metadata: TableMetadata, last: int, table: str) -> list[Step]:
    """The steps from the captured snapshot `last` to the current one, in order; `last` may be EMPTY."""
    current = metadata.current_snapshot()
    if (EMPTY if current is None else current.snapshot_id) == last:
        return []
    if last != EMPTY and metadata.snapshot_by_id(last) is None:
        return _after_expired(metadata, last, table)
    if current is None:
        return [_step(metadata, metadata.snapshot_by_id(last), None, metadata.last_updated_ms)]
    heads = _logged(metadata, last) or _ancestors(metadata, last)
    before = None if last == EMPTY else metadata.snapshot_by_id(last)
    steps = []
    for after, time_ms in heads:
        steps.append(_step(metadata, before, after, time_ms))
        before = after
    return steps


def initial(metadata: TableMetadata) -> Step | None:
    """The step from nothing to the current state."""
    current = metadata.current_snapshot()
    return None if current is None else _step(metadata, None, current, current.timestamp_ms)


def _logged(metadata: TableMetadata, last: int) -> list[tuple[Snapshot, int]]:
    """The log's entries after its last mention of `last`; none if it does not say what came after."""
    log = metadata.snapshot_log
    mentions = [i for i, entry in enumerate(log) if entry.snapshot_id == last]
    if not mentions or log[-1].snapshot_id != metadata.current_snapshot_id:
        return []
    found = [(metadata.snapshot_by_id(e.snapshot_id), e.timestamp_ms) for e in log[mentions[-1] + 1 :]]
    return [(snapshot, time_ms) for snapshot, time_ms in found if snapshot is not None]


def _ancestors(metadata: TableMetadata, last: int) -> list[tuple[Snapshot, int]]:
    """The ancestors after `last`; if it is no ancestor (history was rewritten), the current snapshot alone."""
    heads: list[tuple[Snapshot, int]] = []
    oldest: Snapshot | None = None
    for snapshot in ancestors_of(metadata.current_snapshot(), metadata):
        if snapshot.snapshot_id == last:
            return heads[::-1]
        heads.append((snapshot, snapshot.timestamp_ms))
        oldest = snapshot
    complete = oldest is not None and oldest.parent_snapshot_id is None
    return heads[::-1] if last == EMPTY and complete else heads[:1]


def _after_expired(metadata: TableMetadata, last: int, table: str) -> list[Step]:
    """`last` is gone. Its successor still says what it appended; what it removed, nobody knows any more."""
    ancestors = list(ancestors_of(metadata.current_snapshot(), metadata))[::-1]
    if not ancestors or ancestors[0].parent_snapshot_id != last or _operation(ancestors[0]) is not Operation.APPEND:
        raise expired(last, table)
    first = ancestors[0]
    step = Step(None, first, _time(first.timestamp_ms), before_expired=True)
    return [step, *steps_since(metadata, first.snapshot_id, table)]


def expired(snapshot: int, table: str) -> SourceError:
    return SourceError(
        f"snapshot {snapshot} of {table}, which was captured, has expired",
        code="RV-SNAPSHOT-EXPIRED",
        hint="Refresh its views to the last tick, once with policy 'full'; then keep snapshots for longer than "
        "the time between two captures (history.expire.max-snapshot-age-ms).",
    )


def _step(metadata: TableMetadata, before: Snapshot | None, after: Snapshot | None, time_ms: int) -> Step:
    return Step(before, after, _time(time_ms), keeps_rows=_only_compactions(metadata, before, after))


def _only_compactions(metadata: TableMetadata, before: Snapshot | None, after: Snapshot | None) -> bool:
    if before is None or after is None:
        return False
    for snapshot in ancestors_of(after, metadata):
        if snapshot.snapshot_id == before.snapshot_id:
            return True
        if _operation(snapshot) is not Operation.REPLACE:
            return False
    return False


def _operation(snapshot: Snapshot) -> Operation | None:
    return snapshot.summary.operation if snapshot.summary else None


def _time(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, UTC)
