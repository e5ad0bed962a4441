"""The statements about materialized views that `wh.sql` and the command line understand beside plain SQL."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rollview.errors import BadInput

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
    tick: int | None
    time: str | None


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


Statement = Create | RefreshView | Explain | Drop | Show


def parse_statement(text: str) -> Statement | None:
    """The statement, or None if the text is Spark's business."""
    if found := CREATE.fullmatch(text):
        query = found["query"].strip().removesuffix(";")
        return Create(plain(found["name"]), query, bool(found["replace"]), bool(found["exists"]), found["policy"])
    if found := REFRESH.fullmatch(text):
        return RefreshView(plain(found["name"]), int(found["tick"]) if found["tick"] else None, found["time"])
    if found := EXPLAIN.fullmatch(text):
        return Explain(plain(found["name"]))
    if found := DROP.fullmatch(text):
        return Drop(plain(found["name"]), bool(found["exists"]))
    if SHOW.fullmatch(text):
        return Show()
    if re.match(
        r"\s*(CREATE\s+(OR\s+REPLACE\s+)?|REFRESH\s+|EXPLAIN\s+|DROP\s+|SHOW\s+)MATERIALIZED\b", text, re.IGNORECASE
    ):
        raise BadInput(
            "this statement about materialized views is not understood",
            code="RV-SYNTAX",
            hint="CREATE [OR REPLACE] MATERIALIZED VIEW [IF NOT EXISTS] name AS SELECT …; "
            "REFRESH MATERIALIZED VIEW name [TO TICK n | TO TIMESTAMP '…']; "
            "EXPLAIN | DROP [IF EXISTS] MATERIALIZED VIEW name; SHOW MATERIALIZED VIEWS",
        )
    return None


def plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
