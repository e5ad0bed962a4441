"""The first control tables."""

import sqlalchemy as sa
from alembic import op

from rollview.catalog.schema import UtcTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _relations()
    _ticks()
    _marks()
    _leases_and_history()


def _relation_id() -> "sa.Column[int]":
    owner = sa.ForeignKey("rollview_relation.id", ondelete="CASCADE")
    return sa.Column("relation_id", sa.Integer, owner, primary_key=True)


def _relations() -> None:
    op.create_table(
        "rollview_relation",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("folded", sa.Text, nullable=False, unique=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("columns", sa.JSON, nullable=False),
        sa.Column("key", sa.JSON),
        sa.Column("definition", sa.JSON, nullable=False),
        sa.Column("created_tick", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.CheckConstraint("kind IN ('table', 'attached', 'view')", name="rollview_relation_kind"),
        sa.CheckConstraint("state IN ('creating', 'ready', 'dropping')", name="rollview_relation_state"),
        sqlite_autoincrement=True,
    )
    view = sa.ForeignKey("rollview_relation.id", ondelete="CASCADE")
    op.create_table(
        "rollview_dependency",
        sa.Column("view_id", sa.Integer, view, primary_key=True),
        sa.Column("reads_id", sa.Integer, sa.ForeignKey("rollview_relation.id"), primary_key=True),
    )
    op.create_index("ix_rollview_dependency_reads_id", "rollview_dependency", ["reads_id"])


def _ticks() -> None:
    op.create_table(
        "rollview_tick",
        sa.Column("tick", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("token", sa.String(32), nullable=False),
        sa.Column("position", sa.Text),
        sa.Column("opened_at", UtcTime, nullable=False),
        sa.Column("committed_at", UtcTime),
        sa.CheckConstraint("state IN ('open', 'committed')", name="rollview_tick_state"),
    )
    op.create_index("ix_rollview_tick_state", "rollview_tick", ["state", "tick"])
    op.create_index("ix_rollview_tick_source", "rollview_tick", ["source", "tick"])
    op.create_index("ix_rollview_tick_committed_at", "rollview_tick", ["committed_at"])
    op.create_table(
        "rollview_tick_table",
        _relation_id(),
        sa.Column("tick", sa.BigInteger, sa.ForeignKey("rollview_tick.tick"), primary_key=True),
        sa.Column("inserted", sa.BigInteger, nullable=False),
        sa.Column("deleted", sa.BigInteger, nullable=False),
        sa.Column("snapshot_id", sa.BigInteger),
        sa.Column("log_snapshot_id", sa.BigInteger),
    )
    op.create_index("ix_rollview_tick_table_tick", "rollview_tick_table", ["tick"])


def _marks() -> None:
    op.create_table(
        "rollview_mark",
        _relation_id(),
        sa.Column("applied_tick", sa.BigInteger),
        sa.Column("extent_snapshot", sa.BigInteger),
        sa.Column("high_water_mark", sa.BigInteger),
    )
    op.create_table(
        "rollview_extent",
        _relation_id(),
        sa.Column("tick", sa.BigInteger, primary_key=True),
        sa.Column("snapshot_id", sa.BigInteger, nullable=False),
    )


def _leases_and_history() -> None:
    op.create_table(
        "rollview_lease",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("token", sa.String(32), nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("machine", sa.Text, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("started", sa.Text, nullable=False),
        sa.Column("acquired_at", UtcTime, nullable=False),
        sa.Column("expires_at", UtcTime, nullable=False),
    )
    op.create_table(
        "rollview_refresh",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("view", sa.Text, nullable=False),
        sa.Column("folded", sa.Text, nullable=False),
        sa.Column("started", UtcTime, nullable=False),
        sa.Column("strategy", sa.String(32), nullable=False),
        sa.Column("reason", sa.Text),
        *(sa.Column(name, sa.BigInteger) for name in ("since", "upto", "delta_rows")),
        *(sa.Column(name, sa.BigInteger) for name in ("inserted", "updated", "deleted")),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("phases", sa.JSON, nullable=False),
        sa.Column("jobs", sa.Integer),
        sa.Column("predicted_cost", sa.Double),
        sa.Column("actual_cost", sa.Double),
        sa.Column("plan_fingerprint", sa.Text),
        sa.Column("error", sa.Text),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_rollview_refresh_folded", "rollview_refresh", ["folded", "id"])
