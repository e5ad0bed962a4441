"""GROUPING SETS, ROLLUP and CUBE: one aggregate over every row repeated once for each set.

Law: GROUP BY GROUPING SETS (S₁, …, Sₘ) = γ_{K', set}(R × {1, …, m}), where a key of K' is NULL in the sets that do not
have it. Repeating rows is linear, so a change passes it as it is, and the groups of all sets are kept by one change
table. As in Spark, the empty set over no rows has no row.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import Generate, Relation
from rollview.algebra.scalar import Scalar, col
from rollview.frontend.refuse import bad

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rollview.algebra.call import Call

GroupingSet = tuple[exp.Expr, ...]
MOST = 4096
"""Spark's own limit"""


def sets_of(group: exp.Group) -> list[GroupingSet] | None:
    """The grouping sets that a GROUP BY names; None if it is a plain one."""
    parts = [element_sets(e) for e in group.expressions]
    if group.args.get("rollup"):
        parts = [rollup([(e,) for e in group.expressions])]
    elif group.args.get("cube"):
        parts = [cube([(e,) for e in group.expressions])]
    elif group.args.get("grouping_sets"):  # the keys are named first, then the sets
        parts = [[s for e in group.args["grouping_sets"] for s in element_sets(e)]]
    elif all(len(p) == 1 for p in parts) and not any(isinstance(e, SPECIAL) for e in group.expressions):
        return None
    combined = [sum(chosen, ()) for chosen in product(*parts)]
    if len(combined) > MOST:
        raise bad(f"{len(combined)} grouping sets are too many", "RV-GROUPING-SETS", group, f"at most {MOST}")
    return combined


SPECIAL = (exp.GroupingSets, exp.Cube, exp.Rollup)


def element_sets(tree: exp.Expr) -> list[GroupingSet]:
    """The sets that one element of GROUP BY stands for; several elements are combined each with each."""
    match tree:
        case exp.Rollup():
            return rollup([unit(e) for e in tree.expressions])
        case exp.Cube():
            return cube([unit(e) for e in tree.expressions])
        case exp.GroupingSets():
            return [s for e in tree.expressions for s in element_sets(e)]
        case _:
            return [unit(tree)]


def unit(tree: exp.Expr) -> GroupingSet:
    if isinstance(tree, exp.Tuple):
        return tuple(tree.expressions)
    return (tree if isinstance(tree, exp.Subquery) else tree.unnest(),)


def rollup(units: Sequence[GroupingSet]) -> list[GroupingSet]:
    return [sum(units[:n], ()) for n in range(len(units), -1, -1)]


def cube(units: Sequence[GroupingSet]) -> list[GroupingSet]:
    return [
        sum((u for u, taken in zip(units, choice, strict=True) if taken), ())
        for choice in product((True, False), repeat=len(units))
    ]


def repeated(source: Relation, sets: int, name: str) -> Relation:
    """Every row once for each set, which it then has the number of."""
    numbers = exp.Array(expressions=[exp.Literal.number(n) for n in range(sets)])
    return Generate(source, Scalar(exp.Anonymous(this="explode", expressions=[numbers])), (name,))


def masked(key: Scalar, having: Sequence[int], sets: int, name: str) -> Scalar:
    """The key in the sets that have it, NULL in the others."""
    if len(having) == sets:
        return key
    return Scalar(exp.Case().when(among(having, name), key.tree.copy()))


def among(numbers: Sequence[int], name: str) -> exp.Expr:
    if not numbers:
        return exp.false()
    return exp.In(this=col(name).tree, expressions=[exp.Literal.number(n) for n in numbers])


def grouping(keys: Sequence[Sequence[int]], name: str, call: Call, sets: int) -> exp.Expr:
    """GROUPING(k): 1 where the set does not have the key; GROUPING_ID(k, …): these bits as a number."""
    if call.name == "grouping":
        bit = exp.Case().when(among(keys[0], name), exp.Literal.number(0)).else_(exp.Literal.number(1))
        return exp.cast(bit, "tinyint", dialect="spark")
    case = exp.Case()
    for n in range(sets):
        value = sum(2**place for place, having in enumerate(reversed(keys)) if n not in having)
        case = case.when(exp.EQ(this=col(name).tree, expression=exp.Literal.number(n)), exp.Literal.number(value))
    return exp.cast(case, "bigint", dialect="spark")
