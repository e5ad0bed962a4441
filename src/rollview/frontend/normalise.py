"""Normalisation: named passes in one ordered tuple, each from relation to relation with the same meaning.

1. `pull_up_projections`  so that joins, filters and scans are one block, whatever subqueries and CTEs said;
2. `simplify_outer_joins` an outer join whose padded rows are filtered out joins the block around it;
3. `merge_aggregates`     a sum over a join of sums becomes one sum (needs the blocks of 1 and 2);
4. `raise_time_filters`   so that blocks are whole, and meet the clock once (after 3, which looks into blocks);
5. `prune_columns`        when it is known what is used: fewer columns in deltas means more changes cancel;
6. `place_predicates`     last: blocks become trees of joins again, each predicate at the first join that can test it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.block import assemble, flatten
from rollview.algebra.clock import is_time_filter
from rollview.algebra.relation import (
    Aggregate,
    AntiJoin,
    Filter,
    Function,
    Generate,
    Join,
    MarkJoin,
    Measure,
    OuterJoin,
    Project,
    Recall,
    Recursion,
    Relation,
    Scan,
    SemiJoin,
    UnionAll,
    Values,
    Window,
    keep,
)
from rollview.algebra.scalar import FOLDED, Scalar, col, conjunction, conjuncts
from rollview.algebra.walking import rebuilt
from rollview.frontend.outer_joins import simplify_outer_joins

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def pull_up_projections(node: Relation) -> Relation:
    """π(R) ⋈ S = π(R ⋈ S): at most one projection stays, on top of each block.

    Replacing columns by expressions repeats them, and level by level that grows like a power. So a projection whose
    expressions would become too large stays where it is.
    """
    core, columns = split(node)
    return with_columns(core, {n: columns[n] for n in node.names})


def split(node: Relation) -> tuple[Relation, Mapping[str, Scalar]]:
    """The relation without its projections, and its columns as expressions over that."""
    match node:
        case Scan() | Values() | Recall():
            return node, {n: col(n) for n in node.names}
        case Project():
            core, columns = split(node.source)
            raised = {name: e.substitute(columns) for name, e in node.columns}
            if all(e.size <= FOLDED for e in raised.values()):
                return core, raised
            below = with_columns(core, {n: columns[n] for n in node.source.names})
            return Project(below, node.columns), {n: col(n) for n in node.names}
        case Filter():
            core, columns = split(node.source)
            return Filter(core, node.predicate.substitute(columns)), columns
        case Join():
            left, left_columns = split(node.left)
            right, right_columns = split(node.right)
            columns = {**left_columns, **right_columns}
            predicate = None if node.predicate is None else node.predicate.substitute(columns)
            return Join(left, right, predicate), columns
        case SemiJoin() | AntiJoin():
            left, left_columns = split(node.left)
            right, right_columns = split(node.right)
            predicate = node.predicate.substitute({**left_columns, **right_columns})
            return replace(node, left=left, right=right, predicate=predicate), left_columns
        case MarkJoin():
            left, left_columns = split(node.left)
            right, right_columns = split(node.right)
            predicate = node.predicate.substitute({**left_columns, **right_columns})
            marked = MarkJoin(left, right, predicate, node.mark)
            return marked, {**left_columns, node.mark: col(node.mark)}
        case OuterJoin():
            left, left_columns = split_side(node.left, padded=node.keeps_right)
            right, right_columns = split_side(node.right, padded=node.keeps_left)
            columns = {**left_columns, **right_columns}
            return replace(node, left=left, right=right, predicate=node.predicate.substitute(columns)), columns
        case Window():
            core, columns = split(node.source)
            windows = tuple((n, w.substitute(columns)) for n, w in node.columns)
            return Window(core, windows), {**columns, **{n: col(n) for n, _ in node.columns}}
        case Generate():
            core, columns = split(node.source)
            generator = node.generator.substitute(columns)
            return Generate(core, generator, node.columns, node.outer), {**columns, **{n: col(n) for n in node.columns}}
        case UnionAll():
            whole = UnionAll(tuple(pull_up_projections(i) for i in flat_inputs(node)), node.columns)
            return whole, {n: col(n) for n in node.names}
        case Recursion():
            return rebuilt(node, pull_up_projections), {n: col(n) for n in node.names}
        case Aggregate():
            core, columns = split(node.source)
            keys = tuple((name, e.substitute(columns)) for name, e in node.keys)
            measures = tuple(
                m if m.argument is None else replace(m, argument=m.argument.substitute(columns)) for m in node.measures
            )
            return replace(node, source=core, keys=keys, measures=measures), {n: col(n) for n in node.names}


def split_side(node: Relation, *, padded: bool) -> tuple[Relation, Mapping[str, Scalar]]:
    """The side of an outer join. In a padded row every column is NULL, so an expression must stay below the join."""
    core, columns = split(node)
    if not padded or all(e.column is not None for e in columns.values()):
        return core, columns
    return with_columns(core, {n: columns[n] for n in node.names}), {n: col(n) for n in node.names}


def flat_inputs(node: UnionAll) -> list[Relation]:
    """A union of unions is one union."""
    result: list[Relation] = []
    for part in node.inputs:
        inner = part
        while (
            isinstance(inner, Project)
            and all(e.column == n for n, e in inner.columns)
            and inner.names == inner.source.names
        ):
            inner = inner.source
        result.extend(flat_inputs(inner) if isinstance(inner, UnionAll) else [part])
    return result


def with_columns(core: Relation, columns: Mapping[str, Scalar]) -> Relation:
    if tuple(columns) == core.names and all(e.column == n for n, e in columns.items()):
        return core
    return Project(core, tuple(columns.items()))


def merge_aggregates(node: Relation) -> Relation:
    """γ_K(SUM(m))(γ_G(m = SUM(e))(R) ⋈ S) = γ_K(SUM(e))(R ⋈ S), where everything but the sums touches only G.

    The change table of the inner aggregate passes the join and feeds the outer one (Gupta and Mumick, Table
    4, rows 4 and 6); here the same is said once, on the definition.
    """
    node = rebuilt(node, merge_aggregates)
    if not isinstance(node, Aggregate):
        return node
    block = flatten(node.source)
    found = [(i, inner) for i, inner in enumerate(block.inputs) if isinstance(inner, Aggregate) and inner.grouped]
    for place, inner in found:
        measures = tuple(merged_measure(m, inner) for m in node.measures)
        groups = dict(inner.keys)
        fixed = [*block.conjuncts, *(e for _, e in node.keys)]
        if any(m is None for m in measures) or any(e.columns & {m.name for m in inner.measures} for e in fixed):
            continue
        inputs = [*block.inputs[:place], inner.source, *block.inputs[place + 1 :]]
        if any(set(inner.source.names) & set(other.names) for i, other in enumerate(inputs) if i != place):
            continue  # the values of some rows, beside these rows
        joined = inputs[0]
        for other in inputs[1:]:
            joined = Join(joined, other)
        predicate = conjunction(c.substitute(groups) for c in block.conjuncts)
        source = joined if predicate is None else Filter(joined, predicate)
        keys = tuple((name, e.substitute(groups)) for name, e in node.keys)
        return merge_aggregates(Aggregate(source, keys, tuple(m for m in measures if m), node.grouped))
    return node


def merged_measure(outer: Measure, inner: Aggregate) -> Measure | None:
    """The outer SUM over one inner SUM or COUNT, as a sum over the inner rows; None if it is not that."""
    name = outer.argument.column if outer.argument is not None else None
    found = next((m for m in inner.measures if m.name == name), None)
    if found is None or outer.function is not Function.SUM:
        return None
    if found.function is Function.SUM:
        return replace(outer, argument=found.argument)
    if found.function is Function.COUNT:
        return replace(outer, argument=Scalar(exp.cast(ones(found.argument), "bigint", dialect="spark")))
    return None


def ones(argument: Scalar | None) -> exp.Expr:
    if argument is None:
        return exp.Literal.number(1)
    missing = exp.Is(this=exp.Paren(this=argument.tree.copy()), expression=exp.Null())
    return exp.Case().when(missing, exp.Literal.number(0)).else_(exp.Literal.number(1))


def select_below_groups(node: Relation) -> Relation:
    """σ_p(γ_G(R)) = γ_G(σ_p(R)) where p reads nothing but G (Gupta and Mumick, Table 4, row 1)."""
    node = rebuilt(node, select_below_groups)
    if not isinstance(node, Filter | Join):
        return node
    block = flatten(node)
    inputs, above = list(block.inputs), list(block.conjuncts)
    for place, inner in enumerate(inputs):
        if isinstance(inner, Aggregate) and inner.grouped:
            groups = dict(inner.keys)
            own = [c for c in above if c.columns and c.columns <= groups.keys()]
            predicate = conjunction(c.substitute(groups) for c in own)
            if predicate is not None:
                inputs[place] = replace(inner, source=select_below_groups(Filter(inner.source, predicate)))
                above = [c for c in above if c not in own]
    if len(above) == len(block.conjuncts):
        return node
    joined = reduce(lambda left, right: Join(left, right), inputs)
    rest = conjunction(above)
    return joined if rest is None else Filter(joined, rest)


def raise_time_filters(node: Relation) -> Relation:
    """σ_{p(c)}(R) ⋈ S = σ_{p(c)}(R ⋈ S), and σ_{p(c)}(σ_{q(c)}(R)) = σ_{p(c) ∧ q(c)}(R)."""
    node = rebuilt(node, raise_time_filters)
    if not isinstance(node, Filter | Join) and not is_time_filter(node):
        return node
    found: list[SemiJoin] = []

    def below(part: Relation) -> Relation:
        if is_time_filter(part):
            found.append(part)
            return below(part.left)
        return rebuilt(part, below) if isinstance(part, Filter | Join) else part

    block = below(node)
    if not found:
        return node
    clock = found[0].right
    columns = {column: name for f in reversed(found) for column, name in clock_columns(f)}
    same = {name: col(columns[column]) for f in found for column, name in clock_columns(f)}
    predicate = conjunction(c.substitute(same) for f in found for c in conjuncts(f.predicate))
    assert isinstance(clock, Scan) and predicate is not None
    return SemiJoin(block, Scan(clock.table, tuple(columns.items()), clock.at), predicate)


def clock_columns(node: SemiJoin) -> tuple[tuple[str, str], ...]:
    assert isinstance(node.right, Scan)
    return node.right.columns


def prune_columns(node: Relation) -> Relation:
    return pruned(node, frozenset(node.names))


def pruned(node: Relation, used: frozenset[str]) -> Relation:
    """The node with at least the columns `used`, and as few others as its form allows."""
    match node:
        case Scan():
            given = tuple(c for c in node.columns if c[1] in used) or node.columns[:1]
            return Scan(node.table, given, node.at)
        case Filter():
            parts = conjuncts(node.predicate)
            below = used.union(*(p.columns for p in parts))
            return Filter(pruned(node.source, below), node.predicate)
        case Project():
            columns = tuple(c for c in node.columns if c[0] in used) or node.columns[:1]
            below = frozenset().union(*(e.columns for _, e in columns))
            return Project(pruned(node.source, below), columns)
        case Join():
            needed = used | (node.predicate.columns if node.predicate is not None else frozenset())
            left, right = set(node.left.names), set(node.right.names)
            return replace(node, left=pruned(node.left, needed & left), right=pruned(node.right, needed & right))
        case MarkJoin() if node.mark not in used:
            return pruned(node.left, used)
        case SemiJoin() | AntiJoin() | MarkJoin() | OuterJoin():
            needed = used | node.predicate.columns
            left, right = set(node.left.names), set(node.right.names)
            return replace(node, left=pruned(node.left, needed & left), right=pruned(node.right, needed & right))
        case Values():
            places = [i for i, n in enumerate(node.columns) if n in used] or [0]
            rows = tuple(tuple(row[i] for i in places) for row in node.rows)
            return Values(rows, tuple(node.columns[i] for i in places))
        case Window():
            windows = tuple(c for c in node.columns if c[0] in used)
            below = (used - {n for n, _ in node.columns}).union(*(w.columns for _, w in windows))
            return Window(pruned(node.source, below), windows) if windows else pruned(node.source, below)
        case Generate():
            below = (used - set(node.columns)) | node.generator.columns
            return replace(node, source=pruned(node.source, below))
        case UnionAll():
            return pruned_union(node, used)
        case Recall():
            return node
        case Recursion():
            return rebuilt(node, prune_columns)
        case Aggregate():
            measures = tuple(m for m in node.measures if m.name in used)
            if not node.keys:
                measures = measures or node.measures[:1]  # SQL has no relation without columns
            arguments = [m.argument for m in measures if m.argument is not None]
            below = frozenset().union(*(e.columns for e in [*(e for _, e in node.keys), *arguments]))
            return replace(node, source=pruned(node.source, below), measures=measures)


def pruned_union(node: UnionAll, used: frozenset[str]) -> Relation:
    places = [i for i, n in enumerate(node.columns) if n in used] or [0]
    inputs = []
    for part in node.inputs:
        wanted = tuple(part.names[i] for i in places)
        smaller = pruned(part, frozenset(wanted))
        inputs.append(smaller if smaller.names == wanted else keep(smaller, wanted))
    return UnionAll(tuple(inputs), tuple(node.columns[i] for i in places))


def place_predicates(node: Relation) -> Relation:
    """σ_p(R × S) = R ⋈_p S: every block is joined along its predicates."""
    match node:
        case Filter() | Join():
            tree = placed(node)
            return tree if tree.names == node.names else keep(tree, node.names)
        case Project() | Aggregate():
            return replace(node, source=placed(node.source))
        case _:
            return rebuilt(node, place_predicates)


def placed(node: Relation) -> Relation:
    """The same rows, their columns in any order."""
    if not isinstance(node, Filter | Join):
        return place_predicates(node)
    block = flatten(node)
    first, *others = (place_predicates(i) for i in block.inputs)
    return assemble(first, dict(enumerate(others)), block.conjuncts)


PASSES: tuple[Callable[[Relation], Relation], ...] = (
    pull_up_projections,
    simplify_outer_joins,
    merge_aggregates,
    select_below_groups,
    raise_time_filters,
    prune_columns,
    place_predicates,
)


def normalise(node: Relation) -> Relation:
    for step in PASSES:
        node = step(node)
    return node
