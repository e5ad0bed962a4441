"""Spark's errors in our words: whose fault, a stable code, the place in the SQL, no stack trace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.errors.exceptions.captured import UnknownException, convert_exception

from rollview.errors import BadInput, Position, RollviewError, SourceError

CODES = {
    "UNRESOLVED_COLUMN": "RV-UNKNOWN-COLUMN",
    "AMBIGUOUS_REFERENCE": "RV-AMBIGUOUS",
    "TABLE_OR_VIEW_NOT_FOUND": "RV-UNKNOWN-TABLE",
    "UNRESOLVED_ROUTINE": "RV-UNKNOWN-FUNCTION",
    "DATATYPE_MISMATCH": "RV-TYPE",
    "ARITHMETIC_OVERFLOW": "RV-OVERFLOW",
    "NUMERIC_VALUE_OUT_OF_RANGE": "RV-OVERFLOW",
    "CAST_OVERFLOW": "RV-OVERFLOW",
    "CAST_INVALID_INPUT": "RV-CAST",
    "DIVIDE_BY_ZERO": "RV-DIVIDE-BY-ZERO",
    "MISSING_AGGREGATION": "RV-NOT-GROUPED",
    "PARSE_SYNTAX_ERROR": "RV-SYNTAX",
    "RECURSION_LEVEL_LIMIT_EXCEEDED": "RV-RECURSION-LIMIT",
    "RECURSION_ROW_LIMIT_EXCEEDED": "RV-RECURSION-LIMIT",
}
DATA_EXCEPTION = "22"
"""the class of SQL states for values that an expression cannot take"""
FAILING = ("RV-DIVIDE-BY-ZERO", "RV-OVERFLOW", "RV-CAST", "RV-VALUE", "RV-RECURSION-LIMIT")
"""the codes of such, and of a recursion without an end: what rows can bring about that never were together"""
UNPLANNED = "RV-SPARK-PLAN"
"""the code of a statement that Spark breaks down over before it runs: a fault of its own, and the same at every try"""
INTERNAL = re.compile(r"\[INTERNAL_ERROR\] The Spark SQL phase (analysis|optimization|planning) failed")
PARSED_UP_TO = re.compile(r"\(line (\d+), pos (\d+)\)")
NAMED = re.compile(r"\[([A-Z_.]+)\]")
"""how Spark's messages begin"""
CONFLICTS = ("ValidationException", "CommitFailedException")
WRAPPERS = ("org.apache.spark.SparkException", "java.util.concurrent.ExecutionException")
"""what an error becomes on its way out of a thread of Spark's own: of a broadcast, or a subquery"""
HINT = "the statement fails in Spark itself; run it as a query to see why"
SPARKS_HINT = "see Spark's log; if the view's own text fails as a query too, the fault is Spark's"


@contextmanager
def translated(statement: str) -> Iterator[None]:
    """Spark's exceptions leave as rollview's."""
    try:
        yield
    except RollviewError:
        raise
    except PySparkException as error:
        raise translate(error, statement) from None
    except (CommitFailedException, ValidationException) as error:
        raise conflict(first_line(str(error))) from None
    except Exception as error:
        if (java := getattr(error, "java_exception", None)) is None:
            raise
        raise translate_java(java, statement) from None


def translate(error: PySparkException, statement: str) -> RollviewError:
    condition = error.getCondition() or ""
    message = first_line(str(error))
    code = ours(condition)
    if code is None and (error.getSqlState() or "").startswith(DATA_EXCEPTION):
        code = "RV-VALUE"
    if code is not None:
        return BadInput(message, code=code, position=position(error, statement), hint=HINT)
    if isinstance(error, AnalysisException | ParseException):
        return BadInput(message, code="RV-SQL", position=position(error, statement), hint=HINT)
    return SourceError(message, code="RV-SPARK", hint=SPARKS_HINT, retryable=False)


def ours(condition: str) -> str | None:
    return next((code for theirs, code in CODES.items() if condition.startswith(theirs)), None)


def translate_java(error: Any, statement: str) -> RollviewError:
    """Java's own exceptions, of which PySpark makes nothing: Iceberg's refusals, and what a thread has wrapped."""
    unplanned = None
    while (kind := error.getClass().getName()) in WRAPPERS and error.getCause() is not None:
        unplanned = unplanned or INTERNAL.search(str(error.getMessage()))
        error = error.getCause()
    said = convert_exception(error)
    if not isinstance(said, UnknownException):
        return translate(said, statement)
    said_so = NAMED.match(text := str(error.getMessage()))
    if said_so and (code := ours(said_so[1])) is not None:
        return BadInput(first_line(text), code=code, hint=HINT)
    message = first_line(f"{kind.rpartition('.')[2]}: {text}")
    if unplanned is not None:
        message = f"Spark breaks down in its own {unplanned[1]}: {message}"
        return SourceError(message, code=UNPLANNED, hint=SPARKS_HINT, retryable=False)
    if kind.startswith("org.apache.iceberg.exceptions.") and kind.endswith(CONFLICTS):
        return conflict(message)
    return SourceError(message, code="RV-SPARK", hint=SPARKS_HINT, retryable=False)


def conflict(message: str) -> SourceError:
    return SourceError(
        f"another process wrote the same table: {message}",
        code="RV-CONFLICT",
        hint="nothing was written; try again, from where the other one has come",
        retryable=True,
    )


def position(error: PySparkException, statement: str) -> Position | None:
    try:
        contexts = error.getQueryContext()
    except Exception:  # not every error has one, and Spark Connect may refuse
        contexts = []
    for context in contexts or ():
        start = context.startIndex()
        if start is not None and 0 <= start <= len(statement):
            before = statement[:start]
            return Position(before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1)
    if isinstance(error, ParseException) and (found := PARSED_UP_TO.search(str(error))):
        return Position(int(found[1]), int(found[2]) + 1)
    return None


def first_line(text: str) -> str:
    """The message without the plan and the stack that Spark appends."""
    line = next((part for part in text.splitlines() if part.strip()), "Spark failed")
    said = PARSED_UP_TO.sub("", re.sub(r"^\[[A-Z_.]+\]\s*", "", line)).strip()
    return re.sub(r"\s*SQLSTATE: \w+$", "", said)
