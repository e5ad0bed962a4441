"""The facade that a user holds: tables, transactions, views, refresh, and what can be asked of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rollview import sources
from rollview.algebra.schema import Tables
from rollview.alteration import asked
from rollview.apply.fold import fold
from rollview.capture.managed import Committer, Transaction
from rollview.catalog import ControlStore, Step
from rollview.catalog.database import parse_location
from rollview.catalog.held import held, newest
from rollview.catalog.stored import Stored, all_stored
from rollview.errors import BadInput, BrokenInvariant, SourceError
from rollview.frontend.references import respelled
from rollview.frontend.time_filters import clock_columns
from rollview.lake.lake import Lake
from rollview.lake.refs import user_table
from rollview.lake.session import check_session, local_session
from rollview.lake.typer import SparkTyper
from rollview.limits import USUAL, Limits
from rollview.maintain import maintain
from rollview.names import COUNT, TICK, is_reserved
from rollview.plan.explain import Explanation, StoredPart, explain
from rollview.propagate import intervals
from rollview.propagate.log_rows import log_rows
from rollview.propagate.states import reader_at
from rollview.propagate.summands import DRIVERS
from rollview.propagate.versioned import Span
from rollview.propagate.view_delta import ViewDelta
from rollview.propagate.visible_changes import visible_changes
from rollview.registry import PATIENCE
from rollview.report import Listing, Report, Verification
from rollview.retention import KEEP
from rollview.statements import AlterTable, Create, Drop, Explain, RefreshView, Show, parse_statement, refuse_write
from rollview.status import history, status
from rollview.upkeep import Upkeep
from rollview.verify.audit import audit
from rollview.views import POLICIES, Views


def now() -> datetime:
    return datetime.now(UTC)


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
        clock: Callable[[], datetime] = now,
    ) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(
                f"{str(self.path)!r} cannot be the folder of a warehouse: {error.strerror}", code="RV-WAREHOUSE"
            ) from None
        url = catalog or f"sqlite:///{(self.path / 'catalog.db').absolute()}"
        self._limits = limits
        self._control = ControlStore(url)
        if spark is None:
            spark = local_session(self.path, url, driver_memory=driver_memory)
        else:
            check_session(spark, url, self.path)
        # SQLAlchemy would take another driver for a plain postgresql:// than the control tables do
        self._lake = Lake(spark, parse_location(url).render_as_string(hide_password=False), self.path)
        self._lake.create_namespaces()
        self._typer = SparkTyper(self._lake)
        self._views = Views(self._lake, self._control, self._typer)
        self._upkeep = Upkeep(self._lake, self._control, self._views, self._limits, clock)
        self._registry = self._upkeep.registry
        self._alteration = self._upkeep.alteration
        self._upkeep.recover()

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
        relations = [r for r in self._control.relations.list(state="ready") if not is_reserved(r.name)]
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
        access: str = "versioned",
    ) -> None:
        """A managed table. `columns` as in CREATE TABLE; without `key` it is a bag. `foreign_keys` maps columns to the
        table whose key they refer to, such as {"store_id": "stores"}; `cluster` lays the rows out (default: by key).
        With access "present" it is never read as of an earlier version, as if it lived in another system; with "none"
        only views can be made over it that are kept from its changes alone."""
        self._registry.create_table(name, columns, key, foreign_keys or {}, cluster or (), access)

    def attach(
        self,
        name: str,
        source: sources.IcebergTable,
        *,
        key: Sequence[str] | None = None,
        foreign_keys: Mapping[str, str] | None = None,
    ) -> None:
        """Make a table that others write a base table. Nothing is copied; changes are captured from now on."""
        self._registry.attach(name, source.table, key, foreign_keys or {})

    def alter_table(
        self,
        name: str,
        *,
        add: str | None = None,
        rename: Mapping[str, str] | None = None,
        drop: Sequence[str] = (),
        widen: Mapping[str, str] | None = None,
    ) -> None:
        """Give a managed table other columns: `add` as in CREATE TABLE, `rename` from old names to new ones, `drop`,
        and `widen` to larger types, such as {"n": "BIGINT"}. The views over it mean what they meant, and keep what is
        stored for them; those whose own columns become wider are built anew by their next refresh. Refused if a view
        reads what would be gone."""
        self._alteration.table(name, asked(add, rename or {}, drop, widen or {}))

    def drop_table(self, name: str) -> None:
        """Forget a table. A managed table's rows are dropped; an attached table itself is left alone."""
        self._registry.drop(name, "table", "attached")

    def transaction(self, at: datetime | None = None) -> Transaction:
        """Changes of managed tables under one tick, all or nothing. `at`: when they happened, if they are loaded later;
        times never decrease from one tick to the next, so one before the last commit's counts as that."""
        self._alteration.recover()
        committer = Committer(self._lake, self._control, lambda s: fold(self._lake, self._control, s, self._limits))
        return Transaction(committer, all_stored(self._control), None if at is None else aware(at))

    def capture(self, *, patience: float = 0.0) -> int:
        """Take what is new in the attached tables, and read the clock if a view does and its last reading is older than
        `patience`, in seconds, or of another day; without refreshing a view. Returns the last tick."""
        self._upkeep.capture(None)
        self._upkeep.move_clock(self._upkeep.needed([]), patience)
        return self.tick

    # --- views ----------------------------------------------------------------------------------------

    def create_view(
        self, name: str, sql: str, policy: str = "auto", *, or_replace: bool = False, if_not_exists: bool = False
    ) -> Report | None:
        """Define a view and compute it once. Policies: auto, incremental, strict, full.

        With `or_replace`, a view of that name stays readable until it is the new one: at once where what is stored
        answers the new query (the report's reason is RV-DATA-KEPT), else when the new rows are built beside the old.
        Views that read it are recomputed at their next refresh.
        """
        check_policy(policy)
        found = self._control.relations.find(name)
        if found is not None and if_not_exists:
            return None
        self._alteration.recover()
        relations = all_stored(self._control)
        sql = respelled(sql, relations)
        reads = self._views.reads(sql, relations)
        self._upkeep.capture(reads)
        if read := clock_columns(sql):
            self._upkeep.clock.make()
            relations = all_stored(self._control)
        below = [n for n in reads if relations[n].relation.kind == "view"]
        self._upkeep.move_clock(self._upkeep.needed(below) if below else (), also=read)
        if or_replace and found is not None and found.kind == "view" and found.state == "ready":
            return self._upkeep.redefinition.view(name, sql, policy)
        with self._registry.making(name):
            return self._upkeep.creation.view(name, sql, policy)

    def trust_function(self, name: str) -> None:
        """Vouch that a function that you registered with Spark is deterministic: views of this session may call it.

        Whoever opens the warehouse registers it again, and vouches again."""
        self._typer.trusted.add(name.lower())

    def drop_view(self, name: str) -> None:
        """Drop a view and all that is stored for it."""
        self._registry.drop(name, "view")
        self._views.forget(name)

    def refresh(
        self, *names: str, to: int | datetime | None = None, policy: str | None = None
    ) -> Report | list[Report]:
        """Bring views up to a tick (default: the last). One name: its report; several or none (all): a list."""
        if policy is not None:
            check_policy(policy)
        wanted = [self._stored(n, "view").name.lower() for n in names]
        needed, followed = self._upkeep.current(wanted, policy, clock=to is None)
        reports = self._upkeep.refresh(needed, wanted, self._target(to), policy) | followed
        if len(names) == 1:
            return reports[wanted[0]]
        return [r for n, r in reports.items() if not wanted or n in wanted]

    def propagate(
        self,
        name: str,
        upto: int | datetime | None = None,
        *,
        step: int | Mapping[str, float] | None = None,
        steps: Mapping[str, int | Mapping[str, float]] | None = None,
        driver: str = "rolling",
    ) -> list[Step]:
        """Compute and store a view's changes up to a tick (default: the last), without applying them.

        `step` bounds each step: a number of ticks, {"rows": n}, {"seconds": s}, or {"target": s} for steps of about s
        seconds. The view's rows stay as they are: `apply` or `refresh` takes the changes along, `table(name, at=…)`
        shows them. For tables that show only their present, `steps` bounds each by its name, and `driver` is
        "rolling", "stepwise" or "propagate".
        """
        interval = intervals.interval(step)
        each = {table.lower(): intervals.interval(s) for table, s in (steps or {}).items()}
        if driver not in DRIVERS:
            raise BadInput(f"there is no driver {driver!r}", code="RV-DRIVER", hint=", ".join(DRIVERS))
        wanted = self._stored(name, "view").name.lower()
        needed, _ = self._upkeep.current([wanted], clock=upto is None)
        tick = self._target(upto)
        self._upkeep.level(wanted)
        self._upkeep.refresh([n for n in needed if n != wanted], (), tick, None)
        self._upkeep.settle(wanted, tick)
        with self._registry.lease(wanted):
            self._views.start_delta(self._stored(wanted, "view"), all_stored(self._control))
            return self._upkeep.roll(wanted).propagate(tick, interval, each, driver)

    def schedule(self, name: str, *, lag: float | None = None, step: int | Mapping[str, float] | None = None) -> None:
        """What runners keep a view at: its target lag in seconds, and the step of its propagation."""
        view = self._stored(name, "view")
        intervals.interval(step)
        if lag is not None and lag <= 0:
            raise BadInput(f"a lag of {lag} s cannot be kept", code="RV-LAG", hint="a number of seconds above 0")
        given = {k: v for k, v in (("lag", lag), ("step", step)) if v is not None}
        known = {**view.definition, "schedule": {**view.definition.get("schedule", {}), **given}}
        self._control.relations.update_definition(view.name, known)

    def apply(self, name: str, to: int | datetime | None = None) -> Report:
        """Roll a view to a tick that its view delta reaches, forward or back (default: as far as it reaches)."""
        view = self._stored(name, "view").name.lower()
        with self._registry.lease(view):
            roll = self._upkeep.roll(view)
            return roll.apply_to(roll.reach().high if to is None else self._target(to))

    # --- reading --------------------------------------------------------------------------------------

    def table(self, name: str, at: int | datetime | None = None) -> Any:
        """A Spark DataFrame of a view or table, now or as of a tick."""
        target = self._stored(name)
        if at is None:
            return self._lake.run(self._lake.select_all(user_table(name).tree()))
        tick = self._target(at)
        self._upkeep.settle(target.name, tick)
        states = self._views.states(all_stored(self._control))
        try:
            return self._lake.run(self._lake.select_all(states.at(target.name.lower(), tick)))
        finally:
            states.close()

    def when(self, tick: int) -> datetime | None:
        """When a tick was committed; None if it was not."""
        return self._control.ticks.commit_time(tick)

    def snapshot(self, at: int | datetime) -> Snapshot:
        """Every table and view as of one tick."""
        return Snapshot(self, self._target(at))

    def changes(self, name: str, since: int | datetime, upto: int | datetime | None = None) -> Any:
        """The signed changes of a table or view in (since, upto]: its columns, `__count` and `__tick`."""
        target = self._stored(name)
        self._upkeep.capture([name.lower()])
        first, last = self._target(since), self._target(upto)
        target = self._stored(name)  # its columns may have changed
        if any(first < t <= last for t in target.definition.get("breaks", ())):
            raise SourceError(
                f"not all changes of {name} since tick {first} are known", code="RV-SOURCE-GAP", hint="ask since later"
            )
        columns = [*(c.name for c in target.base.columns), COUNT, TICK]
        if target.relation.kind != "view":
            return self._lake.run(log_rows(self._control, target, columns, first, last))
        applied = held(self._lake, self._control, target).tick
        reach = ViewDelta(self._lake, self._control, target).reach(applied)
        if target.definition.get("logged") and "delta" not in target.definition:
            return self._lake.run(log_rows(self._control, target, columns, first, min(last, applied)))
        last = min(last, reach.high)
        if first not in reach or last not in reach:
            raise BadInput(
                f"the view delta of {name} covers ticks {reach.low} to {reach.high}, not {first} to {last}",
                code="RV-NO-VIEW-DELTA",
                hint="it is stored for views that another view reads, and by wh.propagate",
            )
        relations = all_stored(self._control)
        states = self._views.states(relations)
        try:
            compiled = self._views.compiled(target, relations)
            return self._lake.run(visible_changes(states, target, compiled, Span(first, last)))
        finally:
            states.close()

    def _query_at(self, statement: str, tick: int) -> Any:
        """A query over the states at a tick."""
        relations = all_stored(self._control)
        text = respelled(statement, relations)
        for name in self._views.reads(text, relations):
            self._upkeep.settle(name, tick)
        states = self._views.states(relations)
        try:
            return self._lake.run(states.query(text, tick))
        finally:
            states.close()

    def sql(self, statement: str) -> Any:
        """Any statement; unqualified names mean the warehouse's. A DataFrame, or what a view's statement gives."""
        match parse_statement(statement):
            case AlterTable() as alter if self._control.relations.find(alter.name) is not None:
                self.alter_table(alter.name, add=alter.add, rename=alter.rename, drop=alter.drop, widen=alter.widen)
                return None
            case None | AlterTable():
                relations = all_stored(self._control)
                refuse_write(statement, relations)
                with self._lake.in_warehouse():
                    return self._lake.run(respelled(statement, relations))
            case Create() as create:
                return self.create_view(
                    create.name,
                    create.query,
                    create.policy.lower() if create.policy else "auto",
                    or_replace=create.replace,
                    if_not_exists=create.if_not_exists,
                )
            case RefreshView() as refresh:
                return self.refresh(refresh.name, to=refresh.to)
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
        views = {n for n, s in relations.items() if s.relation.kind == "view"}
        extents = {text: relations[part].extent for text, part in target.definition.get("parts", {}).items()}
        parts = [str(StoredPart(text, self._lake.live_rows(e), self._lake.bytes(e))) for text, e in extents.items()]
        refused = target.definition.get("refused_parts", {})
        parts += [f"derived at each refresh ({code}): {text}" for text, code in refused.items()]
        compiled = self._views.compiled(target, relations)
        return explain(target, compiled, bases, last[0] if last else None, views, parts)

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
        found = newest(self._lake, target.extent, self._control.marks.mark(target.name))
        if found is None:
            raise BrokenInvariant(f"{target.name} has no extent", code="RV-NO-EXTENT")
        refuse_outdated(self._control, target, found.tick)
        self._views.compiled(target, relations)  # refuses where columns that it reads have changed
        self._upkeep.settle(target.name, found.tick)
        states = self._views.states(relations)
        try:
            recomputed = states.computed(target, found.tick)
            here = reader_at(target, found.snapshot_id)
            return audit(self._lake, target.name, found.tick, here, recomputed, target.base.columns)
        finally:
            states.close()

    def maintain(self, *, keep: float = KEEP, dry_run: bool = False) -> Listing:
        """Fold, expire and rewrite what no view can need, apart from the last `keep` seconds; what holds the rest."""
        relations = all_stored(self._control)
        with ExitStack() as leases:
            if not dry_run:
                for name in sorted(n for n, s in relations.items() if s.relation.kind == "view"):
                    leases.enter_context(self._registry.lease(name))
                leases.enter_context(self._control.leases.hold("writer", wait=PATIENCE))
                self._registry.drop_retired(before=datetime.now(UTC) - timedelta(seconds=keep))
                for target in relations.values():
                    if target.relation.kind == "table":
                        fold(self._lake, self._control, target, self._limits)
            return maintain(self._lake, self._control, relations, keep, dry_run=dry_run)

    # --- inside ---------------------------------------------------------------------------------------

    def _target(self, to: int | datetime | None) -> int:
        last = self.tick
        if to is None:
            return last
        if not isinstance(to, int | datetime):
            raise BadInput(f"{to!r} is neither a tick nor a time", code="RV-TIME", hint="an int, or a datetime")
        tick = to if isinstance(to, int) else self._control.ticks.tick_at(aware(to))
        if not 0 <= tick <= last:
            raise BadInput(f"there is no tick {tick} yet", code="RV-NO-TICK", hint=f"the last tick is {last}")
        return tick

    def _stored(self, name: str, *kinds: str) -> Stored:
        return self._upkeep.stored(name, *kinds)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A warehouse at one tick: all that is read through it is of that moment."""

    _warehouse: Warehouse = field(repr=False)
    tick: int

    def table(self, name: str) -> Any:
        """A Spark DataFrame of a table or view at the tick."""
        return self._warehouse.table(name, at=self.tick)

    def sql(self, query: str) -> Any:
        """A query over tables and views at the tick."""
        return self._warehouse._query_at(query, self.tick)


def refuse_outdated(control: ControlStore, view: Stored, tick: int) -> None:
    """A view cannot be compared with its SQL if a view below has got another definition since."""
    below = [r.name for r in control.relations.dependencies_of(view.name) if r.kind == "view"]
    if below and control.ticks.ticks_between(tick, control.ticks.last_tick(), below):
        raise BadInput(
            f"a view below {view.name} has got another definition since tick {tick}",
            code="RV-UPSTREAM-REDEFINED",
            hint=f"wh.refresh({view.name!r}) first",
        )


def check_policy(policy: str) -> None:
    if policy not in POLICIES:
        raise BadInput(f"there is no policy {policy!r}", code="RV-POLICY", hint=", ".join(POLICIES))


def aware(moment: datetime) -> datetime:
    """A time without a zone is UTC."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def open_warehouse(path: str | Path, spark: Any = None, catalog: str | None = None, **options: Any) -> Warehouse:
    """Open a warehouse, making it if it is not there."""
    return Warehouse(path, spark, catalog, **options)
