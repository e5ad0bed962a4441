"""The difference of two snapshots, as files.

Law: let live(F, X) be the rows of data file F that no delete file of snapshot X covers, and nothing if X does not
list F. Then  after = before ⊎ Σ_F (live(F, after) − live(F, before)),  and F contributes only if it entered, left, or
other delete files cover it. Which files those are follows from the manifests that the snapshots do not share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rollview.capture.iceberg.equality import may_match
from rollview.capture.iceberg.manifests import Content, ContentFile, is_deletes, may_hold

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.io import FileIO
    from pyiceberg.manifest import ManifestFile
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

    from rollview.capture.iceberg.manifests import Manifests

Deletes = tuple[ContentFile, ...]
PathsOf = Callable[[ContentFile], Iterable[str]]
"""The data files that a position delete file names: it has to be read for that."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A data file and the delete files that cover it in either state; None: the state does not list the file."""

    file: ContentFile
    before: Deletes | None
    after: Deletes | None

    @property
    def files(self) -> set[ContentFile]:
        return {self.file, *(self.before or ()), *(self.after or ())}


@dataclass(frozen=True, slots=True)
class Difference:
    """The files that carry one snapshot into another."""

    changes: tuple[FileChange, ...]
    without_deletes: bool = False
    """Neither snapshot has a delete file."""

    @property
    def files(self) -> set[ContentFile]:
        """All files that have to be read."""
        return {f for c in self.changes for f in c.files}

    @property
    def one_sided(self) -> bool:
        """Rows were only gained or only lost, so that none can cancel out."""
        return all(c.before is None for c in self.changes) or all(c.after is None for c in self.changes)

    @property
    def gained(self) -> int | None:
        """The number of rows gained, if the files tell."""
        return self._rows_of([c for c in self.changes if c.after is not None])

    @property
    def lost(self) -> int | None:
        """The number of rows lost, if the files tell."""
        return self._rows_of([c for c in self.changes if c.before is not None])

    def _rows_of(self, changes: list[FileChange]) -> int | None:
        known = self.one_sided and not any(c.before or c.after for c in changes)
        return sum(c.file.records for c in changes) if known else None


class Differ:
    """Finds differences within one version of a table's metadata."""

    def __init__(self, metadata: TableMetadata, io: FileIO, manifests: Manifests, paths_of: PathsOf) -> None:
        self._metadata = metadata
        self._io = io
        self._manifests = manifests
        self._paths_of = paths_of
        # An equality delete of an unpartitioned spec reaches every partition of every spec.
        self._everywhere = {i for i, spec in metadata.specs().items() if spec.is_unpartitioned()}

    def appended(self, snapshot: Snapshot) -> Difference:
        """The files that an append added; asks nothing of the snapshot before it."""
        added = (
            f
            for m in self._manifests.of(snapshot, self._io).values()
            if m.added_snapshot_id == snapshot.snapshot_id and not is_deletes(m)
            for f in self._manifests.live(m, self._io)
            if f.added_by == snapshot.snapshot_id
        )
        return Difference(tuple(FileChange(f, None, ()) for f in added))

    def between(self, before: Snapshot | None, after: Snapshot | None) -> Difference:
        """The files that differ; None is the empty table."""
        old = self._manifests.of(before, self._io)
        new = self._manifests.of(after, self._io)
        gone = [m for path, m in old.items() if path not in new]
        came = [m for path, m in new.items() if path not in old]
        left, entered = self._apart(gone, came, deletes=False)
        uncovering, covering = self._apart(gone, came, deletes=True)
        touched = self._touched([*uncovering, *covering], new, [*left, *entered])
        was = self._covers(old, [*left, *touched])
        now = self._covers(new, [*entered, *touched])
        changes = [FileChange(f, was.of(f), None) for f in left]
        changes += [FileChange(f, None, now.of(f)) for f in entered]
        for file in touched:
            if was.of(file) != now.of(file):
                changes.append(FileChange(file, was.of(file), now.of(file)))
        return Difference(tuple(changes), not any(map(is_deletes, [*old.values(), *new.values()])))

    def _apart(
        self, gone: list[ManifestFile], came: list[ManifestFile], *, deletes: bool
    ) -> tuple[list[ContentFile], list[ContentFile]]:
        """The files of one kind that left and that entered; a rewritten manifest lists most of its files again."""
        old, new = (
            {f: None for m in ms if is_deletes(m) == deletes for f in self._manifests.live(m, self._io)}
            for ms in (gone, came)
        )
        return [f for f in old if f not in new], [f for f in new if f not in old]

    def _covers(self, manifests: Mapping[str, ManifestFile], asked: Iterable[ContentFile]) -> Covers:
        """The delete files of a snapshot, without the manifests that are too old for every file `asked` about."""
        oldest = min((f.sequence for f in asked), default=None)
        if oldest is None:
            return Covers((), self._everywhere)
        deletes = [m for m in manifests.values() if is_deletes(m) and (m.sequence_number or 0) >= oldest]
        return Covers((f for m in deletes for f in self._manifests.live(m, self._io)), self._everywhere)

    def _touched(
        self, deletes: list[ContentFile], new: Mapping[str, ManifestFile], moved: list[ContentFile]
    ) -> list[ContentFile]:
        """The data files in both states, so none that `moved`, that one of `deletes` may cover."""
        equality = [d for d in deletes if d.content is Content.EQUALITY]
        paths = {p for d in deletes if d.content is Content.POSITIONS for p in self._targets(d)}
        paths -= {f.path for f in moved}
        if not paths and not equality:
            return []
        elsewhere = set(moved)
        touched: dict[ContentFile, None] = {}
        for file in self._data_files(new, deletes, bounds=bool(equality)):
            if file in elsewhere:
                continue
            if file.path in paths or any(self._may_cover(d, file) for d in equality):
                touched[file] = None
            paths.discard(file.path)
            if not paths and not equality:
                break
        return list(touched)

    def _targets(self, delete: ContentFile) -> Iterable[str]:
        return (delete.target,) if delete.target is not None else self._paths_of(delete)

    def _may_cover(self, delete: ContentFile, file: ContentFile) -> bool:
        same = (delete.spec_id, delete.partition) == (file.spec_id, file.partition)
        reaches = delete.sequence > file.sequence and (same or delete.spec_id in self._everywhere)
        return reaches and may_match(delete, file, self._metadata)

    def _data_files(
        self, manifests: Mapping[str, ManifestFile], deletes: list[ContentFile], *, bounds: bool
    ) -> Iterator[ContentFile]:
        """The data files in the partitions of `deletes`, the newest manifests first: what changes is often young."""
        everywhere = any(d.content is Content.EQUALITY and d.spec_id in self._everywhere for d in deletes)
        places = {(d.spec_id, d.partition) for d in deletes}
        data = [m for m in manifests.values() if not is_deletes(m)]
        for manifest in sorted(data, key=lambda m: m.sequence_number or 0, reverse=True):
            if everywhere or any(may_hold(manifest, spec_id, at, self._metadata) for spec_id, at in places):
                yield from self._manifests.live(manifest, self._io, bounds=bounds)


class Covers:
    """The delete files of one snapshot, to be asked which of them cover a data file.

    A position delete covers files of its own or a lower sequence number, an equality delete only of a lower one. A
    deletion vector replaces every position delete file of its data file.
    """

    def __init__(self, deletes: Iterable[ContentFile], everywhere: set[int]) -> None:
        self._positions: defaultdict[Any, list[ContentFile]] = defaultdict(list)
        self._equality: defaultdict[Any, list[ContentFile]] = defaultdict(list)
        for delete in deletes:
            if delete.content is Content.EQUALITY:
                place = None if delete.spec_id in everywhere else (delete.spec_id, delete.partition)
                self._equality[place].append(delete)
            else:
                self._positions[delete.target or (delete.spec_id, delete.partition)].append(delete)

    def of(self, file: ContentFile) -> Deletes:
        place = (file.spec_id, file.partition)
        positions = [d for key in (file.path, place) for d in self._positions.get(key, ())]
        positions = [d for d in positions if d.sequence >= file.sequence]
        vectors = [d for d in positions if d.is_vector]
        equality = [d for key in (place, None) for d in self._equality.get(key, ())]
        equality = [d for d in equality if d.sequence > file.sequence]
        return tuple(sorted([*(vectors or positions), *equality], key=lambda d: (d.sequence, d.path, d.offset or 0)))
