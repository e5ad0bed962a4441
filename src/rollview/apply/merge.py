"""Merging a change into an extent.

On the driver, by one commit and no Spark job, where the extent and the change are small (small.py).

Otherwise one MERGE where the rows it may touch are few: the extent is small, or key bounds leave little of it. Where
they are many an upsert would shuffle the whole extent, so matched rows and new rows go as two commits. Either way they
go to a branch that begins at the snapshot which the change fits, and one fast-forward publishes them: if another
process has written since, main is not where the branch began, and nothing is applied.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from sqlglot import exp

from rollview.apply import small
from rollview.apply.rewrite import replace_groups, rewrite_states
from rollview.capture.net import row_codes
from rollview.change import Applied, Change
from rollview.deltas.change_table import Update, Updates
from rollview.lake.lake import Lake
from rollview.lake.refs import Commit, TableRef
from rollview.lake.regions import bytes_near, bytes_within, regions, whole_numbers
from rollview.limits import USUAL, Limits
from rollview.names import COUNT
from rollview.plan.emit import ident
from rollview.plan.merge import TARGET, column, merge_rows, merge_states
from rollview.plan.region import Region
from rollview.steps import reached


class Applier:
    """Applies changes to one extent; every commit carries `properties` and follows on the snapshot `after`.

    `solid` are the key columns that are never NULL.
    """

    def __init__(
        self,
        lake: Lake,
        extent: TableRef,
        properties: Mapping[str, str],
        *,
        limits: Limits = USUAL,
        after: int | None = None,
        solid: Collection[str] = (),
    ) -> None:
        self.lake = lake
        self.extent = extent
        self.properties = properties
        self.limits = limits
        self.after = after
        self.solid = solid

    def is_small(self) -> bool:
        return self.size() <= self.limits.few_bytes

    def size(self) -> int:
        return self.lake.bytes(self.extent)

    def unmoved(self) -> TableRef:
        """The extent, if nobody has written it since the change was computed."""
        self.lake.unmoved(self.extent, self.after)
        return self.extent

    def merge(self, statement: exp.Merge) -> None:
        """All of the change by one statement."""
        self.merge_branch(statement)
        self.publish()

    def merge_branch(self, statement: exp.Merge) -> None:
        """The statement on our branch, begun where the change fits."""
        self.lake.start_branch(self.extent, self.after)
        statement.set("this", exp.alias_(self.extent.tree(self.lake.branch), TARGET, table=True, quoted=True))
        self.lake.merge(statement, self.properties)
        reached("apply.matched")

    def publish(self) -> None:
        self.lake.publish_branch(self.extent, self.after)

    def states_statement(
        self, source: exp.Expr, key: Sequence[str], updates: Updates, near: Mapping[str, Region]
    ) -> exp.Merge:
        extent = self.extent.tree()
        return merge_states(extent, source, key, updates, keep_empty=not key, near=near, solid=self.solid)

    def rows_statement(
        self,
        source: exp.Expr,
        key: Sequence[str],
        columns: Sequence[str],
        near: Mapping[str, Region],
        *,
        insert: bool = True,
    ) -> exp.Merge:
        return merge_rows(self.extent.tree(), source, key, columns, insert=insert, near=near, solid=self.solid)

    def few(self, rows: pa.Table | None, key: Sequence[str], order: Sequence[str]) -> bool:
        """May a single MERGE touch only little of the extent, which is sorted by `order`?"""
        if self.is_small():
            return True
        if rows is None or not key:
            return False
        ordered = key[0] in order[:1]
        read = bytes_near(self.lake.load(self.extent), key[0], rows.column(key[0]), ordered=ordered)
        return read <= self.limits.few_bytes

    # --- on the driver --------------------------------------------------------------------------------

    def fits_driver(self, updates: Updates) -> bool:
        """Is the extent so small, and of such columns, that no Spark is needed to change it?"""
        if self.size() > self.limits.rewrite_bytes:
            return False
        schema = self.lake.small_schema(self.extent)
        return schema is not None and small.fits(schema, updates)

    def driven(
        self,
        rows: pa.Table | None,
        updates: Updates,
        order: Sequence[str],
        made: Callable[[pa.Table, pa.Table], tuple[pa.Table, Applied]],
    ) -> Applied | None:
        """The extent as it is made of itself and of the change; None if that is for Spark to do."""
        if rows is None or not self.fits_driver(updates):
            return None
        self.unmoved()
        old = self.lake.small_rows(self.extent)
        try:
            new, applied = made(old, small.conformed(rows, old.schema))
        except pa.ArrowException:  # a value too large for its column, for which Spark has the words
            return None
        if order:
            new = new.sort_by([(c, "ascending") for c in order])
        self.lake.replace_small(self.extent, new, self.properties, after=self.after)
        return applied

    # --- fused: the change is computed by the statement that applies it -------------------------------

    def takes_query(self, near: Mapping[str, Region], key: Sequence[str], *, small: bool) -> bool:
        """May the source of a MERGE be a query? If it touches only little of the extent, which is sorted by `key`.

        A small change is better computed first if nothing else tells where its keys lie: then only the files that may
        hold them are read, however many others there are.
        """
        if self.size() <= (self.limits.rewrite_bytes if small else self.limits.few_bytes):
            return True
        region = near.get(key[0]) if key else None
        ranges = whole_numbers(region) if region is not None else None
        if region is None or ranges is None:
            return False
        return bytes_within(self.lake.load(self.extent), key[0], ranges, nulls=region.nulls) <= self.limits.few_bytes

    def fused_rows(
        self, query: exp.Query, key: Sequence[str], columns: Sequence[str], near: Mapping[str, Region]
    ) -> Applied:
        """Signed rows into a keyed extent."""
        self.merge(self.rows_statement(query, key, columns, near))
        return self.counted()

    def fused_states(
        self, query: exp.Query, key: Sequence[str], updates: Updates, near: Mapping[str, Region]
    ) -> Applied:
        """V ⊔ □V."""
        if self.size() <= self.limits.rewrite_bytes:
            return self.rewritten(query, key, updates)
        self.merge(self.states_statement(query, key, updates, near))
        return self.counted()

    # --- aggregates -----------------------------------------------------------------------------------

    def states(self, change: Change, key: Sequence[str], updates: Updates) -> Applied:
        """V ⊔ □V."""
        done = self.driven(
            change.rows,
            updates,
            key,
            lambda old, rows: small.merged_states(old, rows, key, updates, keep_empty=not key),
        )
        if done is not None:
            return done
        if self.size() <= self.limits.rewrite_bytes:
            return self.rewritten(change.name, key, updates)
        return self.merged_states(change.name, change.rows, key, updates)

    def rewritten(self, source: exp.Expr, key: Sequence[str], updates: Updates) -> Applied:
        extent = self.unmoved()
        return rewrite_states(
            self.lake, extent, source, key, updates, self.properties, keep_empty=not key, after=self.after
        )

    def groups(self, change: Change, key: Sequence[str], columns: Sequence[str]) -> Applied:
        """The rows of the change take the place of the groups with the same key; `__count` 0 deletes them."""
        done = self.driven(
            change.rows,
            {},
            key,
            lambda old, groups: small.replaced_groups(old, groups, key, keep_empty=not key),
        )
        if done is not None:
            return done
        if self.size() <= self.limits.rewrite_bytes:
            extent = self.unmoved()
            return replace_groups(
                self.lake, extent, change.name, key, columns, self.properties, keep_empty=not key, after=self.after
            )
        updates = {c: Update.REPLACE for c in columns if c not in key}
        return self.merged_states(change.name, change.rows, key, updates)

    def merged_states(self, source: exp.Expr, rows: pa.Table | None, key: Sequence[str], updates: Updates) -> Applied:
        near = regions(rows, key) if rows is not None else {}
        if rows is None or not key or self.few(rows, key, key):
            self.merge(self.states_statement(source, key, updates, near))
            return self.counted()
        return self.split_states(source, rows, key, updates, near)

    def split_states(
        self,
        source: exp.Expr,
        rows: pa.Table,
        key: Sequence[str],
        updates: Updates,
        near: Mapping[str, Region],
    ) -> Applied:
        """Matched groups by a MERGE that broadcasts the change; groups that it did not find are appended.

        The MERGE itself tells which it found: the files that it added hold the updated groups, and a group that it
        deleted has lost rows, so a gaining group that is not in those files is new. The extent is read once.
        """
        statement = self.states_statement(source, key, updates, near)
        statement.args["whens"].expressions.pop()  # matched rows only
        self.merge_branch(statement)
        updated = self.lake.added_rows(self.extent, key)
        gaining = rows.filter(pa.array(rows.column(COUNT).to_numpy() > 0))
        fresh = gaining.filter(pa.array(~np.isin(*paired_codes(gaining.select(list(key)), updated))))
        if fresh.num_rows:
            new = self.lake.spark.createDataFrame(fresh)
            self.lake.append(self.extent, new, self.properties, order=key, branch=self.lake.branch)
            reached("apply.branch")
        self.publish()
        applied = self.counted(parents=1 if fresh.num_rows else 0)
        return replace(applied, inserted=fresh.num_rows)

    # --- rows -----------------------------------------------------------------------------------------

    def rows(
        self,
        change: Change,
        key: Sequence[str],
        columns: Sequence[str],
        *,
        unique: bool,
        inserts_only: bool,
        order: Sequence[str] = (),
    ) -> Applied:
        """Signed rows into a keyed or bag extent, new ones sorted by `order`."""
        same = key if unique else columns
        done = self.driven(change.rows, {}, order, lambda old, rows: small.changed_rows(old, rows, same))
        if done is not None:
            return done
        if inserts_only:
            return self.append(change, columns, order)
        near = regions(change.rows, key) if change.rows is not None else {}
        if self.few(change.rows, key, order):
            source: exp.Expr = change.name
            if not unique and not gains_single_copies(change):
                source = bag_source(change.name, self.extent.tree(), columns, near)
            self.merge(self.rows_statement(source, key, columns, near))
            return self.counted()
        if not unique:
            change = self.repeated(change, columns, near)
        rows = change.rows
        statement = self.rows_statement(change.name, key, columns, near, insert=False)
        if rows is None:
            gained = self.selected(change, columns)
            return self.split_frames(statement, gained)
        counts = rows.column(COUNT).to_numpy()
        fresh = rows.filter(pa.array(counts > 0)).select(list(columns))
        return self.split(statement if (counts < 0).any() else None, fresh, order)

    def append(self, change: Change, columns: Sequence[str], order: Sequence[str]) -> Applied:
        fresh = self.selected(change, columns)
        fresh = fresh if change.rows is None else fresh.coalesce(1)
        order = order if change.rows is not None else ()
        self.lake.append(self.extent, fresh, self.properties, order=order, after=self.after)
        commit = self.lake.commit(self.extent)
        return Applied(commit.number("added-records") if commit else 0, 0, 0)

    def selected(self, change: Change, columns: Sequence[str]):  # type: ignore[no-untyped-def]
        query = exp.select(*(exp.Column(this=ident(c)) for c in columns)).from_(change.name.copy())
        gained = exp.GT(this=exp.Column(this=ident(COUNT)), expression=exp.Literal.number(0))
        return self.lake.run(query.where(gained))

    def repeated(self, change: Change, columns: Sequence[str], near: Mapping[str, Region]) -> Change:
        """For a bag: each changed row once to delete all its copies, and as many copies to insert as must remain."""
        query = bag_source(change.name, self.extent.tree(), columns, near)
        if change.rows is None:
            frame = self.lake.persisted(query)
            return Change(lambda: self.lake.bind(BAG, frame), None)
        if gains_single_copies(change):
            return change
        rows = self.lake.fetch(query)
        return Change(lambda: self.lake.bind(BAG, rows), rows)

    # --- two commits, one publication -----------------------------------------------------------------

    def split(self, matched: exp.Merge | None, fresh: pa.Table, order: Sequence[str]) -> Applied:
        frame = self.lake.spark.createDataFrame(fresh).coalesce(1) if fresh.num_rows else None
        return self.split_frames(matched, frame, order)

    def split_frames(self, matched: exp.Merge | None, fresh, order: Sequence[str] = ()) -> Applied:  # type: ignore[no-untyped-def]
        if matched is None and fresh is not None:
            self.lake.append(self.extent, fresh, self.properties, order=order, after=self.after)
            return self.counted()
        if fresh is None and matched is not None:
            self.merge(matched)
            return self.counted()
        if matched is None:
            return Applied(0, 0, 0)
        self.merge_branch(matched)
        self.lake.append(self.extent, fresh, self.properties, order=order, branch=self.lake.branch)
        reached("apply.branch")
        self.publish()
        return self.counted(parents=1)

    def counted(self, parents: int = 0) -> Applied:
        """Inserted, updated and deleted rows as the commits themselves say."""
        table = self.lake.load(self.extent)
        snapshot = table.current_snapshot()
        inserted = updated = deleted = 0
        for _ in range(parents + 1):
            if snapshot is None or snapshot.summary is None:
                break
            facts = Commit(snapshot.snapshot_id, snapshot.summary.additional_properties)
            merged = "spark.merge-into.num-target-rows-inserted" in facts.properties
            inserted += facts.number("spark.merge-into.num-target-rows-inserted" if merged else "added-records")
            updated += facts.number("spark.merge-into.num-target-rows-updated")
            deleted += facts.number("spark.merge-into.num-target-rows-deleted")
            snapshot = table.snapshot_by_id(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id else None
        return Applied(inserted, updated, deleted)


BAG = "__bag_change"


def gains_single_copies(change: Change) -> bool:
    """Does no row come twice, and none go? Then the change is what to insert."""
    return change.rows is not None and bool((change.rows.column(COUNT).to_numpy() == 1).all())


def bag_source(change: exp.Table, extent: exp.Table, columns: Sequence[str], near: Mapping[str, Region]) -> exp.Query:
    """Rows with -1 (delete every copy) and rows with +1 (insert one copy), from net counts and the copies there are.

    A row that only gains copies needs no look-up. One that loses k of its n copies is deleted, and n - k come back;
    `near` bounds the look-up.
    """
    names = [exp.Column(this=ident(c)) for c in columns]
    count = exp.Column(this=ident(COUNT))
    lost = exp.LT(this=count.copy(), expression=exp.Literal.number(0))
    same = [exp.NullSafeEQ(this=column("d", c), expression=column("e", c)) for c in columns]
    source = exp.alias_(change.copy(), "d", table=True)
    present = (
        exp.select(
            *(column("e", c) for c in columns),
            exp.alias_(exp.Add(this=exp.Count(this=exp.Star()), expression=exp.Max(this=column("d", COUNT))), "copies"),
        )
        .from_(exp.alias_(extent.copy(), "e", table=True))
        .join(source, on=exp.and_(*same, exp.LT(this=column("d", COUNT), expression=exp.Literal.number(0))))
        .where(*(region.test(column("e", c)) for c, region in near.items()))
        .group_by(*(column("e", c) for c in columns))
    )
    gained = (
        exp.select(*names, exp.alias_(count.copy(), "copies"))
        .from_(change.copy())
        .where(exp.GT(this=count.copy(), expression=exp.Literal.number(0)))
    )
    wanted = exp.Union(this=gained, expression=present, distinct=False)
    one = exp.cast(exp.Literal.number(1), "bigint")
    copies = exp.cast(exp.column("copies"), "int")
    repeat = exp.Explode(this=exp.Anonymous(this="ARRAY_REPEAT", expressions=[one, copies]))
    inserts = (
        exp.select(*(n.copy() for n in names), exp.alias_(repeat, COUNT, quoted=True))
        .from_(exp.Subquery(this=wanted, alias=exp.TableAlias(this=ident("w"))))
        .where(exp.GT(this=exp.column("copies"), expression=exp.Literal.number(0)))
    )
    minus = exp.cast(exp.Literal.number(-1), "bigint")
    deletes = (
        exp.select(*(n.copy() for n in names), exp.alias_(minus, COUNT, quoted=True)).from_(change.copy()).where(lost)
    )
    return exp.Union(this=deletes, expression=inserts, distinct=False)


def paired_codes(left: pa.Table, right: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Codes of two tables' rows that are equal iff the rows are."""
    both = pa.concat_tables([left, right.cast(left.schema)])
    codes = row_codes(both)
    return codes[: left.num_rows], codes[left.num_rows :]
