"""CREATE OR REPLACE of a view: what is stored stays where it answers the new query, else a new view is built beside.

The commit point is one transaction of the control database (catalog/replacements.py). Before it the old view is whole,
and what was built is dropped by recovery like anything half-made; after it the new one is, and whoever comes next shows
it to readers, who until then see the old rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime

import sqlglot
from sqlglot import exp

from rollview.algebra.schema import BaseTable, Schema
from rollview.catalog import ColumnInfo, ControlStore, HistoryRow, Moment, Relation
from rollview.catalog.held import held
from rollview.catalog.stored import Stored, all_stored, fingerprint, stored
from rollview.creation import Creation
from rollview.errors import BadInput, RecomputeRefused, RollviewError, SourceError
from rollview.lake.errors import conflict
from rollview.lake.lake import Lake
from rollview.names import next_view
from rollview.plan.emit import sql
from rollview.plan.redefine import Redefined, Stays, redefined, stored_alike
from rollview.registry import PATIENCE, Registry
from rollview.report import Report
from rollview.status import ready
from rollview.steps import reached
from rollview.views import Views, columns_used, outdated

UNSHOWN = "unshown"
"""in the definition of a view whose readers do not see it yet"""


class Redefinition:
    """Replaces views."""

    def __init__(
        self,
        lake: Lake,
        control: ControlStore,
        registry: Registry,
        views: Views,
        creation: Creation,
        catch_up: Callable[[str, int], None],
    ) -> None:
        self.lake = lake
        self.control = control
        self.registry = registry
        self.views = views
        self.creation = creation
        self.catch_up = catch_up
        """brings a view that is not ready yet to a tick"""

    def view(self, name: str, text: str, policy: str) -> Report:
        """The view of that name is the query from now on."""
        with self.registry.lease(name):
            old = stored(ready(self.control, name, "view"))
            self.refuse_cycle(old, text)
            started = datetime.now(UTC)
            found = self.stays(old, text, policy)
            same = text == old.text and not is_outdated(old, all_stored(self.control))
            if found is None and same:  # there is only the text to compare
                self.control.relations.update_definition(old.name, {**old.definition, "policy": policy})
                return self.stayed(old, started)
            if found is not None and found.stays is not Stays.NOTHING:
                self.keep(old, text, policy, found)
                return self.stayed(old, started)
            if found is not None:
                self.fitting_readers(old, found.view.output, found.view.extent.visible_key)
        return self.rebuilt(old, text, policy)

    # --- tables below change --------------------------------------------------------------------------

    def follow(self, view: Stored, policy: str | None) -> Report:
        """Build a view anew that was made over other columns than there are now; readers see its rows until then."""
        if (policy or view.definition["policy"]) == "strict":
            raise RecomputeRefused(
                f"a column that {view.name} reads is gone, or has another type, and its policy is strict",
                code="RV-SCHEMA-CHANGED",
                hint="refresh it with a full policy, or replace it",
            )
        try:
            report = self.rebuilt(view, view.text, view.definition["policy"])
            return replace(report, reason="RV-SCHEMA-CHANGED")
        except BadInput as error:
            raise SourceError(
                f"a column that {view.name} reads is gone, or has another type: {error.message}",
                code="RV-SCHEMA-CHANGED",
                hint="CREATE OR REPLACE it over the columns that there are now, or drop it",
            ) from None

    def refuse_cycle(self, view: Stored, text: str) -> None:
        above = [view.relation, *self.control.relations.dependents_of(view.name, transitive=True)]
        names = {r.name.lower() for r in above}
        read = [n for n in self.views.reads(text, all_stored(self.control)) if n in names]
        if read:
            raise BadInput(f"{view.name} would read itself through {read[0]}", code="RV-VIEW-CYCLE")

    # --- what is stored stays -------------------------------------------------------------------------

    def stays(self, old: Stored, text: str, policy: str) -> Redefined | None:
        """What of the stored data stays; None if nobody knows, because the old or the new view is only recomputed."""
        relations = all_stored(self.control)
        parts = old.definition.get("parts", {})
        compiled, _ = self.views.check(text, policy, relations, lambda part, *_: parts.get(part))
        before = None if is_outdated(old, relations) else self.views.compiled(old, relations)
        if compiled is None or before is None:
            return None
        found = redefined(before, compiled)
        below = {r.name.lower() for r in self.control.relations.dependencies_of(old.name)}
        logs_rows = old.definition.get("logged") and "delta" not in old.definition  # in the columns that readers see
        if not below.issuperset(self.views.reads(text, relations)) or (found.stays is Stays.ROWS and logs_rows):
            return Redefined(Stays.NOTHING, compiled)
        return found

    def keep(self, old: Stored, text: str, policy: str, found: Redefined) -> None:
        """Another text, and perhaps another reader, over the same rows; no Spark job."""
        view = found.view
        known = {k: v for k, v in old.definition.items() if k != "sees"}
        stored_sees = old.definition.get("stored_sees" if "stored_for" in old.definition else "sees", {})
        definition = {
            **known,
            "sql": text,
            "stored_sees": stored_sees,
            "policy": policy,
            "uses": columns_used(view, {n: s.base for n, s in all_stored(self.control).items()}),
            "fingerprint": fingerprint(text, tuple(c.name for c in view.output)),
            "stored_for": old.definition.get("stored_for", old.definition["sql"]),
            "reader": sql(self.views.reader(old, view)),
        }
        columns, key = infos(view.output), view.extent.visible_key
        if found.stays is Stays.ALL:
            self.control.replacements.redefine(old.relation, columns, key, definition, self.readers(old))
        else:
            readers = self.fitting_readers(old, view.output, key)
            with self.moment(readers) as moment:
                self.control.replacements.redefine(
                    old.relation, columns, key, {**definition, UNSHOWN: True}, readers, moment
                )
            reached("replace.committed")
            self.show(old.name)

    def stayed(self, old: Stored, started: datetime) -> Report:
        tick = held(self.lake, self.control, old).tick
        seconds = (datetime.now(UTC) - started).total_seconds()
        row = HistoryRow(
            view=old.name,
            started=started,
            strategy="none",
            reason="RV-DATA-KEPT",
            since=tick,
            upto=tick,
            seconds=seconds,
        )
        self.control.history.record_refresh(row)
        return Report(old.name, "none", "RV-DATA-KEPT", tick, tick, seconds=seconds)

    # --- another one is built -------------------------------------------------------------------------

    def rebuilt(self, old: Stored, text: str, policy: str) -> Report:
        """The new view is built under another name, while the old one can be read and refreshed; then it takes over."""
        started = datetime.now(UTC)
        beside = next_view(old.name, old.relation.id)
        with self.registry.making(beside, part=True):
            report = self.creation.view(beside, text, policy, replaces=old.name)
            reached("replace.built")
            with self.registry.lease(old.name):
                old = self.unmoved(old)
                self.catch_up(beside, held(self.lake, self.control, old).tick)
                new = self.control.relations.get(beside)
                same = text == old.text  # of which types have changed: views above follow as it did
                readers = self.readers(old) if same else self.fitting_readers(old, stored(new).base.columns, new.key)
                if readers:
                    self.views.start_logging(stored(new), all_stored(self.control))
                    new = self.control.relations.get(beside)
                reached("replace.ready")
                definition = {k: v for k, v in new.definition.items() if k != "replaces"}
                definition |= {"place": beside, UNSHOWN: True}
                if "schedule" in old.definition:
                    definition["schedule"] = old.definition["schedule"]
                with self.moment(readers) as moment:
                    self.control.replacements.swap(old.relation, new, definition, readers, moment)
                reached("replace.committed")
                self.show(old.name)
        report = replace(report, view=old.name)
        self.views.record(report, started)
        return report

    def unmoved(self, view: Stored) -> Stored:
        """The view as it is now, if nobody else has replaced it."""
        now = stored(ready(self.control, view.name, "view"))
        if now.relation.id != view.relation.id:
            raise conflict(f"{view.name} was replaced by somebody else in the meantime")
        return now

    # --- whoever reads it -----------------------------------------------------------------------------

    def readers(self, view: Stored) -> tuple[Relation, ...]:
        return self.control.relations.dependents_of(view.name)

    def fitting_readers(self, old: Stored, columns: Schema, key: tuple[str, ...] | None) -> tuple[Relation, ...]:
        """The views that read it: they must mean over the new columns what they meant, and store the same columns."""
        readers = self.readers(old)
        relations = all_stored(self.control)
        bases = {n: s.base for n, s in relations.items()}
        bases[old.name.lower()] = BaseTable(old.base.name, columns, key, (), True)
        for reader in map(stored, readers):
            if not self.fits(reader, old, columns, relations, bases):
                raise BadInput(
                    f"{old.name} is read by {reader.name}, which the new columns or their key do not fit",
                    code="RV-RELATION-IN-USE",
                    hint=f"keep the names, types and key of the columns that {reader.name} uses, or drop it first",
                )
        return readers

    def fits(
        self, reader: Stored, old: Stored, columns: Schema, relations: dict[str, Stored], bases: dict[str, BaseTable]
    ) -> bool:
        before = self.views.compiled(reader, relations)
        types = {c.name.lower(): c.type for c in columns}
        used = reader.definition["uses"].get(old.name.lower(), {})
        if before is None:
            return [(c.name, c.type) for c in old.base.columns] == [(c.name, c.type) for c in columns]
        if any(types.get(name.lower()) != type_ for name, type_ in used.items()):
            return False
        with suppress(RollviewError):
            return stored_alike(before, self.views.compile(reader, bases))
        return False

    @contextmanager
    def moment(self, readers: tuple[Relation, ...]) -> Iterator[Moment | None]:
        """A tick for the views above: from then on the view is another."""
        if not readers:
            yield None
            return
        with self.control.leases.hold("writer", wait=PATIENCE) as lease:
            yield Moment(lease, self.control.ticks.open_tick(lease, "redefinition"))

    # --- what readers see -----------------------------------------------------------------------------

    def show(self, name: str) -> None:
        """The Iceberg view of the user's name reads what the view is now; the caller holds the name."""
        view = self.control.relations.get(name)
        if view.definition.get(UNSHOWN):
            reader = sqlglot.parse_one(view.definition["reader"], read="spark")
            assert isinstance(reader, exp.Query)
            self.lake.create_view(name, reader)
            reached("replace.shown")
            definition = {k: v for k, v in view.definition.items() if k != UNSHOWN}
            self.control.relations.update_definition(name, definition)

    def recover(self) -> None:
        """Finish what a dead process had committed."""
        for relation in self.control.relations.list(kind="view", state="ready"):
            if relation.definition.get(UNSHOWN):
                with suppress(SourceError), self.registry.lease(relation.name, wait=0.0):
                    self.show(relation.name)


def is_outdated(view: Stored, relations: Mapping[str, Stored]) -> bool:
    """Has a relation below the view, or below a part of it, other columns than it was made over?"""
    parts = [relations[p] for p in view.definition.get("parts", {}).values()]
    return any(outdated(v, relations) for v in (*parts, view))


def infos(columns: Schema) -> list[ColumnInfo]:
    return [ColumnInfo(c.name, c.type, c.nullable) for c in columns]
