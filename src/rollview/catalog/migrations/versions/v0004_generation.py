"""A number that grows with every change of the relations, so that whoever remembers them knows when to look again."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    made = op.create_table("rollview_generation", sa.Column("number", sa.BigInteger, nullable=False))
    op.bulk_insert(made, [{"number": 0}])
