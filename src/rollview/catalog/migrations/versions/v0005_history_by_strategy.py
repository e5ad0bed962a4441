"""The last refreshes of one strategy are found at once, however many of another came after them."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_rollview_refresh_strategy", "rollview_refresh", ["folded", "strategy", "id"])
