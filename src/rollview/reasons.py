"""Reason codes and what they mean: one table for messages, explain and the documentation."""

from __future__ import annotations

REASONS: dict[str, str] = {
    "RV-AGGREGATE": "this aggregate function is not maintained from changes yet",
    "RV-APPROXIMATE": "this approximation depends on how Spark spreads the rows, so the view has no one meaning",
    "RV-CHEAPER": "the cost model expects a recompute to be faster: the change is large, or refreshes from changes "
    "have taken longer",
    "RV-COLLATION": "tables keep no collations, and of texts that are equal by one any may stand for the others",
    "RV-COLUMN-TYPE": "what would be stored beside the columns of the view has a type that no table stores",
    "RV-FLOAT-REDERIVE": "floating-point sums are derived anew after many additions and subtractions",
    "RV-FLOAT-SUM": "a floating-point sum is kept by adding and subtracting: it may differ from a recompute in the "
    "last digits, and is derived anew from time to time; NaN and infinities are counted apart and exact",
    "RV-FROM": "this kind of FROM item is not maintained from changes yet",
    "RV-GENERATOR": "generators inside expressions, and time windows outside of SELECT and GROUP BY or several in one "
    "SELECT are not maintained from changes yet",
    "RV-GROUPING-SETS": "GROUP BY … WITH TOTALS is not maintained from changes yet",
    "RV-EQUALITY-DELETES": "this kind of deletion in an attached table is not captured yet",
    "RV-IDENTIFIER": "what a view reads must be written in its text",
    "RV-ICEBERG-FORMAT": "this version of the table format is not captured yet",
    "RV-ICEBERG-METADATA": "the metadata of the attached table cannot be understood",
    "RV-ICEBERG-TYPE": "this type of an attached table is not captured yet",
    "RV-JOIN": "this kind of join is not maintained from changes yet",
    "RV-LATERAL": "what is lateral is joined by an inner or a left join; a generator by a left join with ON",
    "RV-MAP-KEY": "groups of what has a map inside are not maintained from changes; those of a map itself are",
    "RV-NO-VIEW-DELTA": "the view delta is stored only for views that another view reads",
    "RV-NONDETERMINISTIC": "a function of chance or of the clock gives another value at another time; the clock "
    "may be compared with in WHERE (a time filter)",
    "RV-NOT-A-QUERY": "a view is defined by a query",
    "RV-PIVOT": "this form of PIVOT is not maintained from changes yet: over what depends on the query around it, or "
    "whose columns have no one name",
    "RV-PRESENT-VIEW": "over tables that show only their present, joins, unions and sums over them are kept from "
    "changes, not other views",
    "RV-QUERY": "this part of a query is not maintained from changes yet",
    "RV-RECURSION-WHOLE": "the step of this recursion compares the rows of a round with each other, so a change costs "
    "what computing all rounds costs",
    "RV-SPARK-PLAN": "Spark breaks down over the query of the change before it runs, by a fault of its own: the view "
    "is recomputed",
    "RV-STAR": "a star inside an expression is maintained as the arguments of a function in the SELECT list",
    "RV-STAR-REPLACE": "* is maintained with EXCEPT of columns, not of the fields of a struct",
    "RV-TRIED": "refreshes from changes take about as long as the view's creation, so it is recomputed once to learn "
    "which way is faster",
    "RV-VARIANT-PATH": "a path into a variant whose keys have to be quoted, or that is computed, is not understood",
    "RV-TYPE": "this type cannot be written back as it was read",
    "RV-UDF": "nothing says that a function that Spark does not ship is deterministic",
    "RV-UNION-BY-NAME": "the sides of a union are matched by place",
    "RV-LIMIT": "LIMIT and OFFSET are maintained for numbers and arithmetic with them, not for other expressions",
    "RV-ORDER-IGNORED": "a stored view has no order; ORDER BY without LIMIT is ignored",
    "RV-POLICY-FULL": "the view's policy is full",
    "RV-RESERVE-FULL": "so many rows came before the last of the stored first rows that only some of them are kept",
    "RV-RESERVE-USED": "too few of the stored first rows were left to show, so they were derived anew from the tables",
    "RV-SCHEMA-CHANGED": "a column that the view reads is gone, or has another type: the view is built anew where its "
    "query still holds",
    "RV-SNAPSHOT-EXPIRED": "a snapshot of an attached table that the change is computed from has expired",
    "RV-SOURCE-GAP": "snapshots of an attached table expired before they were captured, so its changes are not known",
    "RV-NOT-PROPAGATED": "which rows are stored depends on those that are there (rows in reserve, or a recompute), so "
    "changes are computed and applied in one step",
    "RV-STEPS-OPERATOR": "some operator of the view has no changes with ticks, so it stops where a step of propagation "
    "ends",
    "RV-STEPS-VIEW": "the view reads a view, so it stops where that one has stopped",
    "RV-SUBQUERY": "this form of subquery is not maintained from changes yet: a RIGHT or FULL JOIN that depends on the "
    "query around it, IN that is compared with a value",
    "RV-UNDEFINED": "an expression fails on rows that a change brings together though they are in no one state, such "
    "as a division by what was zero before, or a recursion has no end there: the view is recomputed",
    "RV-UNDETERMINED": "the rows of a group do not determine the value of this aggregate: it depends on their order",
    "RV-UPSTREAM-ELSEWHERE": "a view below has passed one of the two ticks without stopping there, so its change is "
    "not known; its SQL is evaluated instead",
    "RV-DATA-KEPT": "the new query of a view is answered by the rows that are stored, so they stay",
    "RV-UPSTREAM-REDEFINED": "a view below got another query, so the view is computed anew from what it is now",
    "RV-UPSTREAM-RECOMPUTED": "a view below was recomputed, so there is no delta of it to go on from",
    "RV-QUANTIFIED": "Spark does not compare with ANY or ALL of a subquery; rollview keeps such a view all the same, "
    "and verify recomputes it as rollview reads it",
    "RV-QUALIFY": "Spark has no QUALIFY; rollview keeps such a view all the same, and verify recomputes it as rollview "
    "reads it",
    "RV-LIMIT-INSIDE": "in a subquery that depends on the query around it Spark may lose the ORDER BY of a LIMIT, and "
    "take other rows than the first; rollview keeps the first, and verify recomputes the view as rollview reads it",
    "RV-TIES": "ORDER BY leaves open which row comes first; it is completed by a key or by all columns, so that every "
    "refresh and every recompute choose the same rows",
    "RV-WINDOW-TIES": "the ORDER BY of this window leaves open which row comes first, and cannot be completed",
    "RV-WINDOW-WHOLE": "a window without PARTITION BY: a change of its rows costs what reading all of them costs",
    "RV-WINDOW": "this window function is not maintained from changes yet",
}
