"""The statements about materialized views that `wh.sql` and the command line understand beside plain SQL."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from rollview.errors import BadInput
from rollview.frontend.dialect import SparkSQL
from rollview.frontend.references import is_ours

NAME = r"(?P<name>`(?:[^`]|``)+`|[\w.]+)"
CREATE = re.compile(
    rf"\s*CREATE\s+(?P<replace>OR\s+REPLACE\s+)?MATERIALIZED\s+VIEW\s+(?P<exists>IF\s+NOT\s+EXISTS\s+)?{NAME}\s+"
    r"(?:POLICY\s+(?P<policy>\w+)\s+)?AS\s+(?P<query>.+)",
    re.IGNORECASE | re.DOTALL,
)
REFRESH = re.compile(
    rf"\s*REFRESH\s+MATERIALIZED\s+VIEW\s+{NAME}(?:\s+TO\s+(?:TICK\s+(?P<tick>\d+)|TIMESTAMP\s+'(?P<time>[^']+)'))?\s*;?\s*",
    re.IGNORECASE,
)
EXPLAIN = re.compile(rf"\s*EXPLAIN\s+MATERIALIZED\s+VIEW\s+{NAME}\s*;?\s*", re.IGNORECASE)
DROP = re.compile(rf"\s*DROP\s+MATERIALIZED\s+VIEW\s+(?P<exists>IF\s+EXISTS\s+)?{NAME}\s*;?\s*", re.IGNORECASE)
OURS = re.compile(
    r"\s*(CREATE\s+(OR\s+REPLACE\s+)?|REFRESH\s+|EXPLAIN\s+|DROP\s+|SHOW\s+)MATERIALIZED\b", re.IGNORECASE
)
COMMENTS = re.compile(r"(\s*(--[^\n]*(\n|$)|/\*.*?\*/))+", re.DOTALL)
WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Drop, exp.Alter, exp.TruncateTable, exp.Create)
ALTER = re.compile(r"\s*ALTER\s+TABLE\b", re.IGNORECASE)
SHOW = re.compile(r"\s*SHOW\s+MATERIALIZED\s+VIEWS\s*;?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Create:
    name: str
    query: str
    replace: bool
    if_not_exists: bool
    policy: str | None


@dataclass(frozen=True, slots=True)
class RefreshView:
    name: str
    to: int | datetime | None


@dataclass(frozen=True, slots=True)
class Explain:
    name: str


@dataclass(frozen=True, slots=True)
class Drop:
    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class Show:
    """SHOW MATERIALIZED VIEWS."""


@dataclass(frozen=True, slots=True)
class AlterTable:
    """ALTER TABLE: columns are added, renamed, dropped or widened."""

    name: str
    add: str | None
    rename: dict[str, str]
    drop: list[str]
    widen: dict[str, str]


Statement = Create | RefreshView | Explain | Drop | Show | AlterTable


def parse_statement(text: str) -> Statement | None:
    """The statement, or None if the text is Spark's business."""
    if leading := COMMENTS.match(text):
        text = text[leading.end() :]
    if found := CREATE.fullmatch(text):
        query = found["query"].strip().removesuffix(";")
        return Create(plain(found["name"]), query, bool(found["replace"]), bool(found["exists"]), found["policy"])
    if found := REFRESH.fullmatch(text):
        return RefreshView(plain(found["name"]), moment(found["time"]) if found["time"] else number(found["tick"]))
    if found := EXPLAIN.fullmatch(text):
        return Explain(plain(found["name"]))
    if found := DROP.fullmatch(text):
        return Drop(plain(found["name"]), bool(found["exists"]))
    if SHOW.fullmatch(text):
        return Show()
    if ALTER.match(text):
        return altered(text)
    if OURS.match(text):
        raise BadInput(
            "this statement about materialized views is not understood",
            code="RV-SYNTAX",
            hint="CREATE [OR REPLACE] MATERIALIZED VIEW [IF NOT EXISTS] name AS SELECT …; "
            "REFRESH MATERIALIZED VIEW name [TO TICK n | TO TIMESTAMP '…']; "
            "EXPLAIN | DROP [IF EXISTS] MATERIALIZED VIEW name; SHOW MATERIALIZED VIEWS",
        )
    return None


def altered(text: str) -> AlterTable | None:
    """None: it is about something else than columns, or not understood."""
    try:
        tree = sqlglot.parse_one(text, read=SparkSQL)
    except SqlglotError:
        return None
    if not isinstance(tree, exp.Alter) or not is_ours(tree.this):
        return None
    added: list[str] = []
    rename: dict[str, str] = {}
    drop: list[str] = []
    widen: dict[str, str] = {}
    for action in tree.args["actions"]:
        match action:
            case exp.ColumnDef():
                added.append(action.sql(dialect="spark"))
            case exp.Schema():
                added += [c.sql(dialect="spark") for c in action.expressions]
            case exp.RenameColumn():
                rename[action.this.name] = action.args["to"].name
            case exp.Drop() if not action.args.get("exists"):
                drop += [c.name for t in action.args["tables"] for c in (t.expressions or [t])]
            case exp.AlterColumn() if action.args.get("dtype") is not None:
                widen[action.this.name] = action.args["dtype"].sql(dialect="spark")
            case _:
                return None
    return AlterTable(tree.this.name, ", ".join(added) or None, rename, drop, widen)


def refuse_write(text: str, names: Collection[str]) -> None:
    """Plain SQL must not change what rollview keeps: no change log would know of it."""
    try:
        trees = sqlglot.parse(text, read=SparkSQL)
    except SqlglotError:
        return
    for tree in trees:
        target = tree.find(exp.Table) if isinstance(tree, WRITES) else None
        if target is not None and is_ours(target) and target.name.lower() in names:
            raise BadInput(
                f"{target.name} is kept by rollview; plain SQL must not change it",
                code="RV-KEPT",
                hint="write rows in wh.transaction(); change columns with alter_table or ALTER TABLE; "
                "drop with drop_table, drop_view or DROP MATERIALIZED VIEW",
            )


def moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(f"{text!r} is not a time", code="RV-TIME", hint="such as '2026-01-31 12:00:00'") from None


def number(text: str | None) -> int | None:
    return None if text is None else int(text)


def plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
