"""The facade that a user holds: tables, transactions, views, refresh, and what can be asked of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rollview import sources
from rollview.algebra.schema import BaseTable, Column, ForeignKey, Schema, Tables
from rollview.apply.fold import fold
from rollview.capture.attached import attach, capture
from rollview.capture.iceberg import IcebergCapture
from rollview.capture.managed import Committer, Transaction
from rollview.catalog import ColumnInfo, ControlStore, Relation
from rollview.catalog.stored import Stored, all_stored, stored
from rollview.errors import BadInput, NotYetSupported
from rollview.frontend.references import respelled
from rollview.lake.arrow import arrow_type, parse_schema, parse_type
from rollview.lake.lake import EXTENT_PROPERTIES, Lake, user_table
from rollview.lake.session import check_session, local_session
from rollview.lake.typer import SparkTyper
from rollview.limits import USUAL, Limits
from rollview.names import COUNT, TICK, is_reserved
from rollview.plan.explain import Explanation, explain
from rollview.propagate.at_tick import at_tick
from rollview.propagate.log_rows import log_rows
from rollview.propagate.states import States
from rollview.refresh import Refresh
from rollview.report import Listing, Report, Verification
from rollview.statements import Create, Drop, Explain, RefreshView, Show, parse_statement
from rollview.status import history, ready, status
from rollview.steps import reached
from rollview.verify.audit import audit
from rollview.views import POLICIES, Views

NAME = re.compile(r"[^\W\d]\w{0,127}")


class Warehouse:
    """A warehouse: a Spark session, an Iceberg catalog, and the control tables beside it."""

    def __init__(
        self,
        path: str | Path,
        spark: Any = None,
        catalog: str | None = None,
        *,
        driver_memory: str = "4g",
        limits: Limits = USUAL,
    ) -> None:
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        url = catalog or f"sqlite:///{(self.path / 'catalog.db').absolute()}"
        self._limits = limits
        self._control = ControlStore(url)
        if spark is None:
            spark = local_session(self.path, url, driver_memory=driver_memory)
        else:
            check_session(spark, url, self.path)
        self._lake = Lake(spark, url, self.path)
        self._lake.create_namespaces()
        self._typer = SparkTyper(self._lake)
        self._views = Views(self._lake, self._control, self._typer)
        self._recover()

    # --- what it is -----------------------------------------------------------------------------------

    @property
    def spark(self) -> Any:
        """The SparkSession."""
        return self._lake.spark

    @property
    def tick(self) -> int:
        """The last committed tick."""
        return self._control.ticks.last_tick()

    def close(self) -> None:
        """Let go of the control database. The Spark session stays: it may be shared."""
        self._control.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        relations = self._control.relations.list(state="ready")
        views = sum(r.kind == "view" for r in relations)
        return f"<Warehouse {str(self.path)!r}: tick {self.tick}, {len(relations) - views} tables, {views} views>"

    # --- base tables ----------------------------------------------------------------------------------

    def create_table(
        self,
        name: str,
        columns: str,
        *,
        key: Sequence[str] | None = None,
        foreign_keys: Mapping[str, str] | None = None,
        cluster: Sequence[str] | None = None,
    ) -> None:
        """A managed table. `columns` as in CREATE TABLE; without `key` it is a bag. `foreign_keys` maps columns to the
        table whose key they refer to, such as {"store_id": "stores"}; `cluster` lays the rows out (default: by key)."""
        self._check_name(name)
        schema = parse_schema(columns)
        for column in schema:
            if is_reserved(column.name):
                raise BadInput(
                    f"names that start with two underscores are reserved: {column.name!r}", code="RV-RESERVED-NAME"
                )
        base = self._base(name, schema, key, foreign_keys)
        self._check_columns(name, schema, cluster or ())
        relation = self._register("table", base, {"cluster": list(cluster or ()), "foreign_keys": as_json(base)})
        target = stored(relation)
        reached("create_table.registered")
        self._lake.create_log(target.log, schema)
        self._lake.create_table(target.extent, schema, EXTENT_PROPERTIES)
        reached("create_table.created")
        self._control.relations.set_state(name, "ready")

    def attach(
        self,
        name: str,
        source: sources.IcebergTable,
        *,
        key: Sequence[str] | None = None,
        foreign_keys: Mapping[str, str] | None = None,
    ) -> None:
        """Make a table that others write a base table. Nothing is copied; changes are captured from now on."""
        self._check_name(name)
        reader = IcebergCapture(self.spark, source.table)
        schema: Schema = tuple(Column(c.name, c.type, c.nullable) for c in reader.columns())
        base = self._base(name, schema, key, foreign_keys)
        definition = {"source": "iceberg", "table": source.table, "foreign_keys": as_json(base)}
        relation = self._register("attached", base, definition)
        target = stored(relation)
        reached("attach.registered")
        self._lake.create_log(target.log, schema)
        self._lake.create_reader(name, source.table)
        snapshot = reader.latest()
        attach(self._control, relation.name, snapshot)
        reached("attach.captured")
        self._control.relations.set_state(name, "ready")

    def drop_table(self, name: str) -> None:
        """Forget a table. A managed table's rows are dropped; an attached table itself is left alone."""
        target = self._stored(name, "table", "attached")
        self._control.relations.set_state(target.name, "dropping")
        self._drop(target)

    def transaction(self) -> Transaction:
        """Changes of managed tables under one tick, all or nothing."""
        committer = Committer(self._lake, self._control, lambda s: fold(self._lake, self._control, s, self._limits))
        return Transaction(committer, all_stored(self._control))

    # --- views ----------------------------------------------------------------------------------------

    def create_view(
        self, name: str, sql: str, policy: str = "auto", *, or_replace: bool = False, if_not_exists: bool = False
    ) -> Report | None:
        """Define a view and compute it once. Policies: auto, incremental, strict, full."""
        found = self._control.relations.find(name)
        if found is not None and if_not_exists:
            return None
        if found is not None and or_replace and found.kind == "view":
            relations = all_stored(self._control)
            self._views.check(respelled(sql, relations), policy, relations)
            self.drop_view(name)
        self._check_name(name)
        if policy not in POLICIES:
            raise BadInput(f"there is no policy {policy!r}", code="RV-POLICY", hint=", ".join(POLICIES))
        self._capture(None)
        relations = all_stored(self._control)
        sql = respelled(sql, relations)
        for upstream in self._views.reads(sql, relations):
            if relations[upstream].relation.kind == "view":
                self._refresh_one(upstream, self.tick)
        return self._views.create(name, sql, policy, all_stored(self._control), self.tick)

    def drop_view(self, name: str) -> None:
        """Drop a view and all that is stored for it."""
        target = self._stored(name, "view")
        self._control.relations.set_state(target.name, "dropping")
        self._drop(target)

    def refresh(
        self, *names: str, to: int | datetime | None = None, policy: str | None = None
    ) -> Report | list[Report]:
        """Bring views up to a tick (default: the last). One name: its report; several or none (all): a list."""
        if policy is not None and policy not in POLICIES:
            raise BadInput(f"there is no policy {policy!r}", code="RV-POLICY", hint=", ".join(POLICIES))
        wanted = [self._stored(n, "view").name.lower() for n in names]
        needed = self._needed(wanted)
        self._capture(needed if wanted else None)
        upto = self._target(to)
        reports = {n: self._refresh_one(n, upto, policy if n in wanted or not wanted else None) for n in needed}
        if len(names) == 1:
            return reports[wanted[0]]
        return [r for n, r in reports.items() if not wanted or n in wanted]

    # --- reading --------------------------------------------------------------------------------------

    def table(self, name: str, at: int | datetime | None = None) -> Any:
        """A Spark DataFrame of a view or table, now or as of a tick that it has stood at."""
        target = self._stored(name)
        if at is None:
            return self._lake.run(self._lake.select_all(user_table(name).tree()))
        states = States(self._lake, self._control, all_stored(self._control))
        return self._lake.run(self._lake.select_all(states.at(target.name.lower(), self._target(at))))

    def changes(self, name: str, since: int | datetime, upto: int | datetime | None = None) -> Any:
        """The signed changes of a table in (since, upto]: its columns, `__count` and `__tick`."""
        target = self._stored(name)
        self._capture([name.lower()])
        if target.relation.kind == "view" and not target.definition.get("logged"):
            raise NotYetSupported(
                f"the view delta of {name} is not stored",
                code="RV-NO-VIEW-DELTA",
                hint="it is stored for views that another view reads",
            )
        first = since if isinstance(since, int) else self._control.ticks.tick_at(aware(since))
        columns = [*(c.name for c in target.base.columns), COUNT, TICK]
        return self._lake.run(log_rows(self._control, target, columns, first, self._target(upto)))

    def sql(self, statement: str) -> Any:
        """Any statement; unqualified names mean the warehouse's. A DataFrame, or what a view's statement gives."""
        match parse_statement(statement):
            case None:
                with self._lake.in_warehouse():
                    return self._lake.run(respelled(statement, all_stored(self._control)))
            case Create() as create:
                return self.create_view(
                    create.name,
                    create.query,
                    create.policy.lower() if create.policy else "auto",
                    or_replace=create.replace,
                    if_not_exists=create.if_not_exists,
                )
            case RefreshView() as refresh:
                moment = datetime.fromisoformat(refresh.time) if refresh.time else refresh.tick
                return self.refresh(refresh.name, to=moment)
            case Explain() as shown:
                return self.explain(shown.name)
            case Drop() as drop:
                if not (drop.if_exists and self._control.relations.find(drop.name) is None):
                    self.drop_view(drop.name)
                return None
            case Show():
                return self.status()

    def explain(self, name: str) -> Explanation:
        """The view's algebra, its strategy per changed table, the SQL, what is scanned, predicted and actual cost."""
        target = self._stored(name, "view")
        relations = all_stored(self._control)
        last = self._control.history.refreshes(target.name, limit=1)
        bases: Tables = {n: s.base for n, s in relations.items()}
        return explain(target, self._views.compiled(target, relations), bases, last[0] if last else None)

    def status(self) -> Listing:
        """Every relation, where it stands, and how the last refresh went."""
        return status(self._control)

    def history(self, name: str | None = None, limit: int = 100) -> Listing:
        """Past refreshes, the newest first: strategy, reason, rows, predicted and actual seconds."""
        return history(self._control, name, limit)

    def verify(self, name: str) -> Verification:
        """Recompute the view at its own tick and compare, as bags, both ways."""
        target = self._stored(name, "view")
        relations = all_stored(self._control)
        refresh = Refresh(self._lake, self._control, relations, target, None)
        tick = refresh.since()
        states = States(self._lake, self._control, relations)
        try:
            recomputed = at_tick(target.definition["sql"], states, tick)
            here = self._lake.select_all(user_table(target.name).tree())
            return audit(self._lake, target.name, tick, here, recomputed, target.base.columns)
        finally:
            states.close()

    # --- inside ---------------------------------------------------------------------------------------

    def _refresh_one(self, name: str, upto: int, policy: str | None = None) -> Report:
        relations = all_stored(self._control)
        view = relations[name]
        if policy is not None:
            changed = replace(view.relation, definition={**view.definition, "policy": policy})
            view = replace(view, relation=changed)
        with self._control.leases.hold(f"view:{name}", wait=120.0):
            compiled = self._views.compiled(view, relations)
            return Refresh(self._lake, self._control, relations, view, compiled, limits=self._limits).run(upto)

    def _needed(self, wanted: Sequence[str]) -> list[str]:
        """The wanted views and the views below them, or all, each after what it reads."""
        ordered = self._control.relations.list(kind="view", state="ready")
        if not wanted:
            return [r.name.lower() for r in ordered]
        needed = set(wanted)
        for relation in reversed(ordered):
            if relation.name.lower() in needed:
                needed |= {r.name.lower() for r in self._control.relations.dependencies_of(relation.name)}
        return [r.name.lower() for r in ordered if r.name.lower() in needed]

    def _capture(self, views: Sequence[str] | None) -> None:
        """Take what is new in the attached tables that the views read; None: in all."""
        wanted: set[str] | None = None
        if views is not None:
            wanted = set(views)
            for name in views:
                wanted |= {r.name.lower() for r in self._control.relations.dependencies_of(name)}
        for relation in self._control.relations.list(kind="attached", state="ready"):
            if wanted is None or relation.name.lower() in wanted:
                capture(self._lake, self._control, stored(relation))

    def _target(self, to: int | datetime | None) -> int:
        last = self.tick
        if to is None:
            return last
        tick = to if isinstance(to, int) else self._control.ticks.tick_at(aware(to))
        if not 0 <= tick <= last:
            raise BadInput(f"there is no tick {tick} yet", code="RV-NO-TICK", hint=f"the last tick is {last}")
        return tick

    def _stored(self, name: str, *kinds: str) -> Stored:
        return stored(ready(self._control, name, *kinds))

    def _check_name(self, name: str) -> None:
        if not NAME.fullmatch(name) or is_reserved(name):
            raise BadInput(
                f"{name[:80]!r} cannot be the name of a table or view",
                code="RV-NAME",
                hint="letters, digits and underscores, not starting with a digit or two underscores",
            )
        if self._control.relations.find(name) is not None:
            raise BadInput(
                f"{name!r} exists already", code="RV-RELATION-EXISTS", hint="drop it first, or take another name"
            )

    def _check_columns(self, table: str, schema: Schema, wanted: Sequence[str]) -> None:
        known = {c.name.lower() for c in schema}
        for name in wanted:
            if name.lower() not in known:
                raise BadInput(f"{table} has no column {name!r}", code="RV-UNKNOWN-COLUMN")

    def _base(
        self, name: str, schema: Schema, key: Sequence[str] | None, foreign_keys: Mapping[str, str] | None
    ) -> BaseTable:
        lower = [c.name.lower() for c in schema]
        for column in lower:
            if lower.count(column) > 1:
                raise BadInput(f"{name} has two columns named {column!r}", code="RV-DUPLICATE-COLUMN")
        if key is not None and (not key or isinstance(key, str)):
            raise BadInput("a key is a list of one or more columns", code="RV-KEY", hint="key=['id']")
        self._check_columns(name, schema, [*(key or ()), *(foreign_keys or {})])
        names = {c.name.lower(): c.name for c in schema}
        references = tuple(self._foreign_key(name, names, c, t) for c, t in (foreign_keys or {}).items())
        return BaseTable(name, schema, tuple(names[k.lower()] for k in key) if key else None, references)

    def _foreign_key(self, name: str, names: Mapping[str, str], column: str, table: str) -> ForeignKey:
        parent = self._control.relations.find(table)
        if parent is None or parent.key is None or len(parent.key) != 1:
            raise BadInput(
                f"{name}.{column} cannot refer to {table!r}",
                code="RV-FOREIGN-KEY",
                hint="a foreign key refers to a table with a key of one column",
            )
        return ForeignKey((names[column.lower()],), parent.name.lower(), parent.key)

    def _register(self, kind: Any, base: BaseTable, definition: dict[str, Any]) -> Relation:
        columns = [ColumnInfo(c.name, c.type, c.nullable) for c in base.columns]
        for column in base.columns:
            arrow_type_of(column)
        return self._control.relations.create(
            base.name, kind, columns, key=base.key, definition=definition, created_tick=self.tick
        )

    def _drop(self, target: Stored) -> None:
        """Everything that is stored for a relation, then its name; can be repeated after a crash."""
        if target.relation.kind == "table":
            self._lake.drop(target.extent)
        else:
            self._lake.drop(user_table(target.name), view=True)
        if target.relation.kind == "view":
            self._lake.drop(target.extent)
        reached("drop.dropped")
        self._lake.drop(target.log)
        self._control.relations.delete(target.name)
        self._views.forget(target.name)

    def _recover(self) -> None:
        """Finish or undo what a dead process left: half-made relations go, tables follow their logs."""
        for relation in reversed(self._control.relations.list()):
            if relation.state != "ready":
                self._drop(stored(relation))
        behind = [s for s in all_stored(self._control).values() if s.relation.kind == "table"]
        for target in behind:
            mark = self._control.marks.mark(target.name).applied_tick or 0
            if self._control.ticks.totals_of(target.name, mark, self.tick).rows:
                with self._control.leases.hold("writer", wait=120.0):
                    fold(self._lake, self._control, target, self._limits)


def as_json(base: BaseTable) -> list[dict[str, Any]]:
    return [{"columns": list(f.columns), "table": f.table, "referenced": list(f.referenced)} for f in base.foreign_keys]


def aware(moment: datetime) -> datetime:
    """A time without a zone is UTC."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def arrow_type_of(column: Column) -> None:
    """Refuse a type that cannot be stored before anything is made."""
    arrow_type(parse_type(column.type))


def open_warehouse(path: str | Path, spark: Any = None, catalog: str | None = None, **options: Any) -> Warehouse:
    """Open a warehouse, making it if it is not there."""
    return Warehouse(path, spark, catalog, **options)
