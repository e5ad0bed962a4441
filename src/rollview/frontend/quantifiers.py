"""x < ANY (SELECT …), x >= ALL (SELECT …): IN with another comparison than =.

x θ ANY (S) is TRUE if x θ s is for some s, else NULL if it is NULL for some s, else FALSE; SOME is ANY. ALL is the
negation of ANY with the opposite comparison, also where NULL is met. Spark 4.1 has neither.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.algebra.scalar import Scalar, operand

OPPOSITE: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
}
COMPARISON = "comparison"
"""the part of an IN that says which comparison it makes"""


def quantifier(node: exp.Expr) -> exp.Any | exp.All | None:
    """The ANY or ALL of a subquery on the right of a comparison."""
    if type(node) not in OPPOSITE:
        return None
    right = node.args["expression"].unnest()
    return right if isinstance(right, exp.Any | exp.All) and isinstance(right.this.unnest(), exp.Query) else None


def is_quantified(tree: exp.Expr) -> bool:
    return any(quantifier(node) is not None for node in tree.find_all(*OPPOSITE))


def quantifiers_spelled(tree: exp.Query) -> exp.Query:
    """The query with an IN of its own comparison in the place of each that names ANY or ALL of a subquery."""
    if tree.find(exp.Any, exp.All) is None or not is_quantified(tree):
        return tree

    def spelled(node: exp.Expr) -> exp.Expr:
        found = quantifier(node)
        if found is None:
            return node
        kind = OPPOSITE[type(node)] if isinstance(found, exp.All) else type(node)
        query = exp.Subquery(this=found.this.unnest().transform(spelled))
        for_any = exp.In(this=node.this.transform(spelled), query=query, **{COMPARISON: kind.key})
        return exp.Paren(this=exp.Not(this=for_any)) if isinstance(found, exp.All) else for_any

    result = tree.transform(spelled)
    assert isinstance(result, exp.Query)
    return result


def quantifiers_dropped(tree: exp.Query) -> exp.Query:
    """The query with EXISTS in the place of those comparisons: other rows, of the same columns."""

    def dropped(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.In) or COMPARISON not in node.args:
            return node
        return exp.Exists(this=node.args["query"].this.transform(dropped))

    result = quantifiers_spelled(tree).transform(dropped)
    assert isinstance(result, exp.Query)
    return result


def compared(tree: exp.Expr, a: Scalar, b: Scalar) -> Scalar:
    """What an IN says of a value and one that the subquery finds."""
    wanted = tree.args.get(COMPARISON, exp.EQ.key)
    kind = next(kind for kind in OPPOSITE if kind.key == wanted)
    return Scalar(kind(this=operand(a.tree), expression=operand(b.tree)))
