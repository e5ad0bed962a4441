"""Names of tables, and what their commits say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp
from sqlglot import to_table as parse_table

from rollview.lake.session import CATALOG
from rollview.names import ENGINE_NAMESPACE, USER_NAMESPACE
from rollview.plan import emit
from rollview.plan.emit import ident, sql


@dataclass(frozen=True, slots=True)
class TableRef:
    """A table of the warehouse's catalog."""

    namespace: str
    name: str

    def tree(self, branch: str | None = None) -> exp.Table:
        if branch is None:
            return emit.table(CATALOG, self.namespace, self.name)
        return exp.Table(
            this=exp.Dot(this=ident(self.name), expression=ident(f"branch_{branch}")),
            db=ident(self.namespace),
            catalog=ident(CATALOG),
        )

    def quoted(self, branch: str | None = None) -> str:
        return sql(self.tree(branch))


def engine_table(name: str) -> TableRef:
    return TableRef(ENGINE_NAMESPACE, name)


def user_table(name: str) -> TableRef:
    return TableRef(USER_NAMESPACE, name.lower())


@dataclass(frozen=True, slots=True)
class Commit:
    """A table's current snapshot: its id, and what its writer said of it."""

    snapshot_id: int | None
    properties: Mapping[str, str]

    def number(self, name: str) -> int:
        return int(self.properties.get(name) or 0)


def to_table(name: str) -> exp.Table:
    """A table name as the user writes it, quoted part by part."""
    tree = parse_table(name, dialect="spark")
    for part in tree.find_all(exp.Identifier):
        part.set("quoted", True)
    return tree
