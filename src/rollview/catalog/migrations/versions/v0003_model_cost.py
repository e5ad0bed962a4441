"""What the cost model says of a refresh before a view's own history corrects it; the history learns from that."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("rollview_refresh", sa.Column("model_cost", sa.Double))
