"""ALTER TABLE of managed tables, while views read them.

What is to be done is noted first. Then the change log and the table get the new columns, each in steps that may be
repeated, and one transaction of the control database makes them those of the relation, together with the definitions
of the views over it. Whoever comes upon a note that a dead process left goes on from there.

No row is written, and no tick passes. Iceberg shows an earlier snapshot with the columns that it was written with, so a
state of the table is read by field ids (propagate/states.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any

from rollview.algebra.schema import Schema
from rollview.apply.fold import fold
from rollview.capture.iceberg.types import columns_of
from rollview.catalog import ColumnInfo, ControlStore
from rollview.catalog.stored import Stored, all_stored, fingerprint, stored
from rollview.errors import BadInput, RollviewError
from rollview.lake.arrow import parse_schema
from rollview.lake.errors import conflict
from rollview.lake.lake import Lake
from rollview.lake.refs import TableRef
from rollview.limits import Limits
from rollview.names import is_reserved
from rollview.plan.alter import Alter
from rollview.plan.compile import CompiledView
from rollview.plan.emit import ident, sql
from rollview.plan.redefine import stored_alike
from rollview.redefinition import is_outdated
from rollview.registry import PATIENCE, Registry, refuse_unfit
from rollview.status import ready
from rollview.steps import reached
from rollview.views import TEXTS, Views, columns_used

NOTE = "altering"
"""in the definition of a table that is being altered: how"""


def asked(add: str | None, rename: Mapping[str, str], drop: Sequence[str], widen: Mapping[str, str]) -> Alter:
    """As a user says it."""
    if isinstance(drop, str):
        raise BadInput(f"drop={drop!r} is not a list of columns", code="RV-COLUMNS", hint=f"drop=[{drop!r}]")
    wider = {name: parse_schema(f"c {to}")[0].type for name, to in widen.items()}
    return Alter(tuple(drop), dict(rename), wider, parse_schema(add) if add is not None else ())


class Alteration:
    """Gives managed tables other columns."""

    def __init__(self, lake: Lake, control: ControlStore, registry: Registry, views: Views, limits: Limits) -> None:
        self.lake = lake
        self.control = control
        self.registry = registry
        self.views = views
        self.limits = limits

    def table(self, name: str, alter: Alter) -> None:
        with self.held(name) as table:
            if NOTE in table.definition:
                table = self.finished(table)
            if table.definition.get("access", "versioned") != "versioned":
                raise BadInput(
                    f"{table.name} is not read as of versions, so its columns must stay",
                    code="RV-ALTER",
                    hint="make another table",
                )
            alter = alter.fitted(table.base)
            refuse_unfit(alter.applied(table.base.columns))
            self.readers(table, Alter(alter.drop), reshaped=False)  # nothing else can be in the way
            fold(self.lake, self.control, table, self.limits)
            self.control.relations.update_definition(table.name, {**table.definition, NOTE: alter.plain()})
            reached("alter.noted")
            self.finished(stored(self.control.relations.get(table.name)))

    def recover(self) -> None:
        """Go on with what others have begun: if they are dead, else wait until they are done."""
        for relation in self.control.relations.list(kind="table", state="ready"):
            if NOTE in relation.definition:
                with self.held(relation.name) as table:
                    if NOTE in table.definition:
                        self.finished(table)

    @contextmanager
    def held(self, name: str) -> Iterator[Stored]:
        """Nobody writes the table, or refreshes a view over it."""
        name = ready(self.control, name, "table").name
        with ExitStack() as leases:
            leases.enter_context(self.registry.lease(name))
            for view in sorted(r.name.lower() for r in self.control.relations.dependents_of(name)):
                leases.enter_context(self.registry.lease(view))
            leases.enter_context(self.control.leases.hold("writer", wait=PATIENCE))
            yield stored(ready(self.control, name, "table"))

    def finished(self, table: Stored) -> Stored:
        """From the note to the end."""
        alter = Alter.of(table.definition[NOTE])
        for place in (table.log, table.extent):
            reshape(self.lake, place, alter)
            reached("alter.reshaped")
        fields = {c.name: c.field_id for c in columns_of(self.lake.load(table.extent).schema())}
        columns = alter.applied(table.base.columns)
        definition = {k: v for k, v in table.definition.items() if k != NOTE}
        definition["fields"] = {c.name: fields[c.name] for c in columns}
        spelled = {c.name.lower(): c.name for c in table.base.columns}
        cluster = [alter.now(spelled[c.lower()]) for c in definition.get("cluster", ())]
        definition["cluster"] = [c for c in cluster if c is not None]
        table = replace(table, relation=replace(table.relation, definition=definition))
        views = self.readers(table, alter, reshaped=True)
        infos = [ColumnInfo(c.name, c.type, c.nullable) for c in columns]
        found = self.control.relations.alter(table.name, infos, definition, alter.rename, views)
        reached("alter.committed")
        self.views.forget(table.name)
        return stored(found)

    def readers(self, table: Stored, alter: Alter, *, reshaped: bool) -> dict[str, dict[str, Any]]:
        return Readers(self.lake, self.control, self.views, table, alter, reshaped=reshaped).definitions()


class Readers:
    """The views over a table that gets other columns, or has got them: `reshaped`."""

    def __init__(
        self, lake: Lake, control: ControlStore, views: Views, table: Stored, alter: Alter, *, reshaped: bool
    ) -> None:
        self.lake = lake
        self.control = control
        self.views = views
        self.table = table
        self.alter = alter
        self.reshaped = reshaped
        self.relations = all_stored(control)
        self.name = table.base.name
        self.bases = alter.bases({n: s.base for n, s in self.relations.items()}, self.name)

    def definitions(self) -> dict[str, dict[str, Any]]:
        """By name, the definitions that the views have from now on."""
        found = {}
        for relation in self.control.relations.dependents_of(self.table.name):
            if relation.state != "ready":
                raise conflict(f"a view over {self.table.name} is being made")
            if not is_reserved(relation.name):  # the parts of a view go with it
                found[relation.name] = self.definition(stored(relation))
        return found

    def definition(self, view: Stored) -> dict[str, Any]:
        """The view means what it meant. If what is stored for it cannot stay, it `uses` the old columns still: then the
        next refresh builds it anew. Refused if it could not be built any more."""
        if is_outdated(view, self.relations):
            raise BadInput(
                f"{view.name} must first be built anew over columns that have changed before",
                code="RV-RELATION-IN-USE",
                hint=f"wh.refresh({view.name!r})",
            )
        seeing = self.seeing(view)
        if view.definition["recompute_reason"] is not None:
            return self.recomputed(view, seeing)
        try:
            compiled = self.views.compile(seeing, self.bases)
        except RollviewError as error:
            if self.reshaped:  # such as a function that nobody has vouched for yet: whoever refreshes it will hear
                return dict(seeing.definition)
            raise self.in_use(view, error.message) from None
        if [c.name for c in compiled.output] != [c.name for c in view.base.columns]:
            raise self.in_use(view, "its columns would be others")
        if not self.fits(view, compiled):
            return dict(seeing.definition)
        same = self.means_the_same(view, compiled)
        return following(view if same else seeing, columns_used(compiled, self.bases), compiled.output)

    def recomputed(self, view: Stored, seeing: Stored) -> dict[str, Any]:
        """A view that is only recomputed: of its columns nothing is known but their names and types."""
        if self.alter.drop and not self.reshaped:
            try:
                output = self.views.typer.query(seeing.text)
            except RollviewError as error:
                raise self.in_use(view, error.message) from None
            if [c.name for c in output] != [c.name for c in view.base.columns]:
                raise self.in_use(view, "its columns would be others")
        if self.alter.widen:
            return dict(seeing.definition)
        uses = columns_used(None, {n: self.bases[n] for n in view.definition["uses"]})
        seen = {c for c, _ in seeing.definition["sees"][self.name]}
        uses[self.name] = {c: type_ for c, type_ in uses[self.name].items() if c in seen}
        return following(seeing, uses, view.base.columns)

    def seeing(self, view: Stored) -> Stored:
        """The view over the columns that there were, by the names that they had."""
        known = dict(view.definition)
        for text, seen in TEXTS.items():
            if text in known:
                there = known.get(seen, {}).get(self.name) or [(c.name, c.name) for c in self.table.base.columns]
                now = [(None if c is None else self.alter.now(c), name) for c, name in there]
                known[seen] = {**known.get(seen, {}), self.name: now}
        return replace(view, relation=replace(view.relation, definition=known))

    def means_the_same(self, view: Stored, seeing: CompiledView) -> bool:
        """Does the view's text say over the new columns what it said over the old ones?"""
        with suppress(RollviewError):
            return stored_alike(seeing, self.views.compile(view, self.bases))
        return False

    def fits(self, view: Stored, compiled: CompiledView) -> bool:
        """Does the view read the same parts, and store columns of the same types, as far as can be known yet?"""
        if not compiled.reads.issuperset(view.definition.get("parts", {}).values()):
            return False
        if not self.alter.widen or not self.reshaped:
            return True
        after = {**self.relations, self.name: replace(self.table, base=self.bases[self.name])}
        states = self.views.states(after, first=True)
        try:
            wanted = self.lake.schema(states.evaluated(compiled.extent.rows, self.control.ticks.last_tick()))
        finally:
            states.close()
        here = self.lake.schema(self.lake.select_all(view.extent.tree()))
        return {c.name: c.type for c in wanted} == {c.name: c.type for c in here}

    def in_use(self, view: Stored, problem: str) -> BadInput:
        return BadInput(
            f"{self.table.name} is read by {view.name}, which would not hold any more: {problem}",
            code="RV-RELATION-IN-USE",
            hint=f"replace or drop {view.name} first",
        )


def following(view: Stored, uses: Mapping[str, Any], output: Schema) -> dict[str, Any]:
    """The definition of a view that goes on with what is stored for it."""
    read = [f"{table}.{column} {type_}" for table, columns in uses.items() for column, type_ in columns.items()]
    known = fingerprint(view.definition["sql"], (*(c.name for c in output), *read))
    return {**view.definition, "uses": uses, "fingerprint": known}


def reshape(lake: Lake, place: TableRef, alter: Alter) -> None:
    """Give a table the new columns, as far as it does not have them yet."""
    there = {c.name: c.type for c in columns_of(lake.load(place).schema())}
    words = [["DROP COLUMN", sql(ident(c))] for c in alter.drop if c in there]
    words += [["RENAME COLUMN", sql(ident(c)), "TO", sql(ident(to))] for c, to in alter.rename.items() if c in there]
    words += [["ALTER COLUMN", sql(ident(c)), "TYPE", to] for c, to in alter.widen.items() if there[c] != to]
    words += [["ADD COLUMN", sql(ident(c.name)), c.type] for c in alter.add if c.name not in there]
    for change in words:
        lake.run(" ".join(["ALTER TABLE", place.quoted(), *change]))
