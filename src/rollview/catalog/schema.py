"""The control tables as SQLAlchemy sees them. The migrations create them; a test keeps the two equal."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)
from sqlalchemy.types import TypeDecorator

from rollview.errors import BadInput

VERSION_TABLE = "rollview_version"
VERSIONS = ("0001", "0002", "0003", "0004", "0005")
"""Every migration, oldest first. The last one is the version that this code reads and writes."""


def as_utc(moment: datetime) -> datetime:
    """An aware time in UTC; a time without a zone names no moment and is refused."""
    if moment.tzinfo is None:
        raise BadInput(
            f"the time {moment.isoformat()} has no time zone",
            code="RV-TIME-ZONE",
            hint="Give a time-zone aware datetime, for example datetime.now(UTC).",
        )
    return moment.astimezone(UTC)


class UtcTime(TypeDecorator[datetime]):
    """`timestamp with time zone`; in SQLite, which has none, UTC text that sorts as time does."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        utc = as_utc(value)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


metadata = MetaData()

relation = Table(
    "rollview_relation",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("name", Text, nullable=False),
    Column("folded", Text, nullable=False, unique=True),
    Column("kind", String(16), nullable=False),
    Column("columns", JSON, nullable=False),
    Column("key", JSON(none_as_null=True)),
    Column("definition", JSON, nullable=False),
    Column("created_tick", BigInteger, nullable=False),
    Column("state", String(16), nullable=False),
    CheckConstraint("kind IN ('table', 'attached', 'view')", name="rollview_relation_kind"),
    CheckConstraint("state IN ('creating', 'ready', 'dropping')", name="rollview_relation_state"),
    sqlite_autoincrement=True,  # an id is never reused, even after its relation is gone
)

dependency = Table(
    "rollview_dependency",
    metadata,
    Column("view_id", Integer, ForeignKey(relation.c.id, ondelete="CASCADE"), primary_key=True),
    Column("reads_id", Integer, ForeignKey(relation.c.id), primary_key=True, index=True),
)

generation = Table("rollview_generation", metadata, Column("number", BigInteger, nullable=False))
"""one row: how often relations and dependencies have changed"""

tick = Table(
    "rollview_tick",
    metadata,
    Column("tick", BigInteger, primary_key=True, autoincrement=False),
    Column("source", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("token", String(32), nullable=False),
    Column("position", Text),
    Column("opened_at", UtcTime, nullable=False),
    Column("committed_at", UtcTime),
    CheckConstraint("state IN ('open', 'committed')", name="rollview_tick_state"),
    Index("ix_rollview_tick_state", "state", "tick"),
    Index("ix_rollview_tick_source", "source", "tick"),
    Index("ix_rollview_tick_committed_at", "committed_at"),
)

tick_table = Table(
    "rollview_tick_table",
    metadata,
    Column("relation_id", Integer, ForeignKey(relation.c.id, ondelete="CASCADE"), primary_key=True),
    Column("tick", BigInteger, ForeignKey(tick.c.tick), primary_key=True, index=True),
    Column("inserted", BigInteger, nullable=False),
    Column("deleted", BigInteger, nullable=False),
    Column("snapshot_id", BigInteger),
    Column("log_snapshot_id", BigInteger),
)

mark = Table(
    "rollview_mark",
    metadata,
    Column("relation_id", Integer, ForeignKey(relation.c.id, ondelete="CASCADE"), primary_key=True),
    Column("applied_tick", BigInteger),
    Column("extent_snapshot", BigInteger),
    Column("high_water_mark", BigInteger),
)

extent = Table(
    "rollview_extent",
    metadata,
    Column("relation_id", Integer, ForeignKey(relation.c.id, ondelete="CASCADE"), primary_key=True),
    Column("tick", BigInteger, primary_key=True),
    Column("snapshot_id", BigInteger, nullable=False),
)

step = Table(
    "rollview_step",
    metadata,
    Column("relation_id", Integer, ForeignKey(relation.c.id, ondelete="CASCADE"), primary_key=True),
    Column("upto", BigInteger, primary_key=True),
    Column("since", BigInteger, nullable=False),
    Column("exact", Boolean, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("ended_at", UtcTime, nullable=False),
)

propagation = Table(
    "rollview_propagation",
    metadata,
    Column("relation_id", Integer, ForeignKey(relation.c.id, ondelete="CASCADE"), primary_key=True),
    Column("asked", BigInteger, nullable=False),
    Column("state", JSON, nullable=False),
)

lease = Table(
    "rollview_lease",
    metadata,
    Column("name", Text, primary_key=True),
    Column("token", String(32), nullable=False),
    Column("host", Text, nullable=False),
    Column("machine", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started", Text, nullable=False),
    Column("acquired_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
)

refresh = Table(
    "rollview_refresh",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("view", Text, nullable=False),
    Column("folded", Text, nullable=False),
    Column("started", UtcTime, nullable=False),
    Column("strategy", String(32), nullable=False),
    Column("reason", Text),
    Column("since", BigInteger),
    Column("upto", BigInteger),
    Column("delta_rows", BigInteger),
    Column("inserted", BigInteger),
    Column("updated", BigInteger),
    Column("deleted", BigInteger),
    Column("seconds", Double, nullable=False),
    Column("phases", JSON, nullable=False),
    Column("jobs", Integer),
    Column("predicted_cost", Double),
    Column("actual_cost", Double),
    Column("plan_fingerprint", Text),
    Column("error", Text),
    Column("model_cost", Double),
    Index("ix_rollview_refresh_folded", "folded", "id"),
    Index("ix_rollview_refresh_strategy", "folded", "strategy", "id"),
    sqlite_autoincrement=True,
)
