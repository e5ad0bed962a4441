"""View deltas: which spans they cover, and where a propagation that takes several queries stands."""

import sqlalchemy as sa
from alembic import op

from rollview.catalog.schema import UtcTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    owner = sa.ForeignKey("rollview_relation.id", ondelete="CASCADE")
    op.create_table(
        "rollview_step",
        sa.Column("relation_id", sa.Integer, owner, primary_key=True),
        sa.Column("upto", sa.BigInteger, primary_key=True),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("exact", sa.Boolean, nullable=False),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("ended_at", UtcTime, nullable=False),
    )
    owner = sa.ForeignKey("rollview_relation.id", ondelete="CASCADE")
    op.create_table(
        "rollview_propagation",
        sa.Column("relation_id", sa.Integer, owner, primary_key=True),
        sa.Column("asked", sa.BigInteger, nullable=False),
        sa.Column("state", sa.JSON, nullable=False),
    )
