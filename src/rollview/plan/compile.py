"""A view's SQL to everything that can be known before any change arrives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra import facts
from rollview.algebra.relation import Aggregate, Project, Recursion, Relation, UnionAll, Window, keep
from rollview.algebra.scalar import Scalar, col
from rollview.algebra.walking import rebuilt, tables, walk
from rollview.errors import BadInput, BrokenInvariant, UnsupportedView
from rollview.frontend.lower import lower
from rollview.frontend.normalise import normalise
from rollview.frontend.parse import parse_query
from rollview.frontend.quantifiers import is_quantified, quantifiers_dropped
from rollview.frontend.references import through
from rollview.frontend.ties import Ties
from rollview.names import is_reserved
from rollview.plan.emit import sql as sql_text
from rollview.plan.extent import Extent, Kind, extent_of
from rollview.plan.inner import by_states
from rollview.plan.map_keys import MAP, by_entries
from rollview.plan.parts import Kept, nothing_kept, with_parts
from rollview.rules.recursion import is_linear

if TYPE_CHECKING:
    from rollview.algebra.schema import Schema, Tables
    from rollview.frontend.scope import Lowered
    from rollview.frontend.typing import Typer

COLLATION = "collat"
"""in texts and types that have to do with one"""
UNGROUPABLE = ("map<", "variant", "interval")


@dataclass(frozen=True, slots=True)
class CompiledView:
    """A view that can be maintained from changes."""

    sql: str
    output: Schema
    definition: Relation
    extent: Extent
    reads: frozenset[str]
    notes: tuple[str, ...]
    """reason codes that `explain` shows: what was ignored, what drifts"""

    @property
    def determined(self) -> bool:
        """Does the user's text have one meaning, and for Spark too? Where rows tie, the definition is one choice."""
        return not {"RV-TIES", "RV-QUALIFY", "RV-QUANTIFIED", "RV-LIMIT-INSIDE"} & set(self.notes)


def compile_view(sql: str, base: Tables, typer: Typer, kept: Kept = nothing_kept) -> CompiledView:
    """Parse, resolve, lower, normalise, type, and decide what is stored; `kept` names the parts that are."""
    try:
        return compiled(sql, base, typer, kept)
    except RecursionError:
        raise BadInput(
            "the query is nested too deeply",
            code="RV-TOO-DEEP",
            hint="split it into several views",
        ) from None


def compiled(sql: str, base: Tables, typer: Typer, kept: Kept) -> CompiledView:
    tree = parse_query(sql)
    lowered, notes = lower(tree, base, typer)
    lacking = {"RV-QUALIFY": tree.find(exp.Qualify) is not None, "RV-QUANTIFIED": is_quantified(tree)}
    beyond_spark = [note for note, found in lacking.items() if found]
    text = sql_text(spelled_for_spark(tree)) if beyond_spark else sql
    output = typer.query(through(text, {n: t.seen for n, t in base.items() if t.seen is not None}))
    check_output(output)
    check_resolution(output, lowered)
    definition: Relation = Project(lowered.relation, tuple((c.unique, col(c.unique)) for c in lowered.columns))
    if "map" in sql.lower() or any(MAP in c.type for t in tables(definition) for c in base[t].columns):
        definition = by_entries(definition, typer)
    definition = normalise(definition)
    ties = Ties(base, typer)
    # ties first: Spark has no type for a row_number() without an order
    split = with_parts(align_unions(ties.settled(definition), base, typer), base, kept)
    definition = cast_outputs(by_states(split, typer), output, typer)
    if COLLATION in sql.lower():
        refuse_collations(definition, output, typer)
    extent = extent_of(definition, output, base, typer)
    notes = (*notes, *cost_notes(extent, ties))
    if extent.kind is Kind.BAG:
        refuse_ungroupable(output)
    if extent.states is not None and extent.states.floating:
        notes = (*notes, "RV-FLOAT-SUM")
    return CompiledView(sql, output, definition, extent, tables(definition), (*notes, *beyond_spark))


def cost_notes(extent: Extent, ties: Ties) -> list[str]:
    notes = ["RV-TIES"] if ties.found else []
    if any(isinstance(n, Window) and not n.partition for n in walk(extent.followed)):
        notes.append("RV-WINDOW-WHOLE")
    if any(isinstance(n, Recursion) and not is_linear(n) for n in walk(extent.followed)):
        notes.append("RV-RECURSION-WHOLE")
    return notes


def spelled_for_spark(tree: exp.Query) -> exp.Query:
    """The query without QUALIFY and comparisons with ANY and ALL, which Spark 4.1 lacks: other rows, of the same
    columns."""
    copy = quantifiers_dropped(tree)
    for clause in list(copy.find_all(exp.Qualify)):
        clause.pop()
    return copy


def check_output(output: Schema) -> None:
    seen: set[str] = set()
    for column in output:
        if column.name.lower() in seen:
            raise BadInput(
                f"the view has two columns named {column.name!r}",
                code="RV-DUPLICATE-COLUMN",
                hint="give one of them an alias",
            )
        seen.add(column.name.lower())
        if is_reserved(column.name):
            raise BadInput(
                f"names that start with two underscores are reserved: {column.name!r}",
                code="RV-RESERVED-NAME",
                hint="give the column another alias",
            )
        if column.type == "void":
            raise BadInput(
                f"the column {column.name!r} is an untyped NULL",
                code="RV-VOID-COLUMN",
                hint="cast it: CAST(NULL AS INT)",
            )


def check_resolution(output: Schema, lowered: Lowered) -> None:
    """Spark's columns and ours are matched by place; where the user named them, the names must say the same."""
    theirs = [c.name.lower() for c in output]
    ours = [c.name.lower() if c.given else None for c in lowered.columns]
    if len(ours) != len(theirs) or any(o not in (None, t) for o, t in zip(ours, theirs, strict=True)):
        raise BrokenInvariant(
            f"Spark sees the columns {', '.join(theirs)}; rollview sees {', '.join(c.name for c in lowered.columns)}",
            code="RV-RESOLVE-COLUMNS",
        )


def align_unions(node: Relation, base: Tables, typer: Typer) -> Relation:
    """UNION ALL widens types by position. Each input says so itself, because a delta may come from one input alone."""
    node = rebuilt(node, lambda child: align_unions(child, base, typer))
    if isinstance(node, Recursion):
        anchor, step = (tuple(c.type for c in typer.relation(part)) for part in (node.source, node.step))
        return replace(node, step=cast_to(anchor, node.step, step))
    if not isinstance(node, UnionAll):
        return node
    stored = {tuple(facts.stored_types(i, base)) for i in node.inputs}
    if len(stored) == 1 and None not in next(iter(stored)):
        return node  # plain columns of one type: no need to ask
    types = tuple(c.type for c in typer.relation(node))
    inputs = tuple(cast_to(types, i, tuple(c.type for c in typer.relation(i))) for i in node.inputs)
    return UnionAll(inputs, node.columns)


def cast_to(wanted: tuple[str, ...], node: Relation, found: tuple[str, ...]) -> Relation:
    """The relation with its columns cast where their types differ from the wanted ones."""
    if wanted == found:
        return node
    top = node if isinstance(node, Project) else keep(node, node.names)
    return Project(
        top.source,
        tuple(
            (name, e if a == b else Scalar(exp.cast(e.tree.copy(), b, dialect="spark")))
            for (name, e), a, b in zip(top.columns, found, wanted, strict=True)
        ),
    )


def cast_outputs(definition: Relation, output: Schema, typer: Typer) -> Relation:
    """Normalisation may change a type (a sum of sums); the view keeps the types that Spark gives it."""
    found = typer.relation(definition)
    return cast_to(tuple(c.type for c in output), definition, tuple(c.type for c in found))


def refuse_collations(definition: Relation, output: Schema, typer: Typer) -> None:
    """Tables keep none; and of values that are equal by a collation, a group would show any."""
    for column in output:
        if COLLATION in column.type:
            raise UnsupportedView(
                f"a table keeps no collation, and the column {column.name!r} is a {column.type}",
                code="RV-COLLATION",
                hint="cast it: CAST(… AS STRING)",
            )
    for node in walk(definition):
        if isinstance(node, Aggregate) and any(COLLATION in c.type for c in typer.relation(node)):
            raise UnsupportedView(
                "which of the texts that are equal by a collation stands for them is not determined",
                code="RV-COLLATION",
                hint="group by LOWER(…), and compare that",
            )


def refuse_ungroupable(output: Schema) -> None:
    for column in output:
        if any(mark in column.type for mark in UNGROUPABLE):
            raise BadInput(
                f"rows with a {column.type} cannot be compared, so changes cannot be matched",
                code="RV-UNGROUPABLE",
                hint="select the keys of the tables too, declared there; or leave the column out",
            )
