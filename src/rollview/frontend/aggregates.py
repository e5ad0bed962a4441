"""Aggregate calls to measures, and the refusal of those whose value the rows of a group do not determine.

COUNT, SUM, AVG, MIN, MAX and BIT_XOR are known to the algebra; FILTER becomes CASE in their argument. Some others are
said by them (BOOL_AND, COUNT_IF, REGR_COUNT …). The rest is carried as it is: Spark evaluates it, by group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from sqlglot import exp

from rollview.algebra import facts
from rollview.algebra.call import Call
from rollview.algebra.relation import Function, Measure
from rollview.algebra.scalar import Scalar, col, operand
from rollview.frontend.refuse import AGGREGATES, bad, function_name, never, not_yet, words
from rollview.frontend.scalars import has_aggregate, is_aggregate

if TYPE_CHECKING:
    from rollview.errors import UnsupportedView
    from rollview.frontend.grouping import Grouping

KNOWN = {
    "count": Function.COUNT,
    "sum": Function.SUM,
    "avg": Function.AVG,
    "mean": Function.AVG,
    "min": Function.MIN,
    "max": Function.MAX,
    "bit_xor": Function.BIT_XOR,
}
EXTREMES = (Function.MIN, Function.MAX)
"""functions to which DISTINCT means nothing"""
ALL_OF, ANY_OF = words("bool_and every"), words("bool_or some any")
DETERMINED = words("first first_value last last_value any_value")
COLLECTS = words("collect_list collect_set array_agg")
ORDERLESS = words("size cardinality array_size array_max array_min array_contains")
"""functions of an array to which the order of its elements means nothing"""
TEXTS = words("listagg string_agg")
BESIDE = words("min_by max_by")
NULL_IGNORING = words(
    """
    var_pop var_samp variance stddev_pop stddev_samp stddev std covar_pop covar_samp corr
    regr_sxx regr_sxy regr_syy regr_slope regr_intercept regr_r2
    """
)
"""functions whose FILTER may become CASE in the first argument"""
SKETCHES = words("count_min_sketch bitmap_and_agg bitmap_construct_agg bitmap_or_agg")
UNSTABLE = words(
    """
    approx_percentile percentile_approx histogram_numeric approx_top_k approx_top_k_accumulate approx_top_k_combine
    hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint
    kll_sketch_agg_double kll_sketch_agg_float theta_intersection_agg theta_sketch_agg theta_union_agg
    """
)
"""approximations that depend on the order and the partitions in which Spark happens to see the rows"""
NOT_GENERIC = words("schema_of_variant_agg")


def over_nothing(measure: Measure) -> Literal["zero", "null", "empty", "something"]:
    """What the measure is over no rows at all."""
    if measure.function is not Function.CALL:
        return "zero" if measure.function is Function.COUNT else "null"
    call = Call.of(measure.argument.tree) if measure.argument is not None else None
    if call is None or call.name in SKETCHES:
        return "something"
    if call.name in COLLECTS:
        return "empty"
    return "zero" if call.name in ("count", "approx_count_distinct") else "null"


def or_else(measure: str, value: exp.Expr) -> Scalar:
    return Scalar(exp.Coalesce(this=col(measure).tree, expressions=[value]))


def aggregate_call(tree: exp.Expr) -> Call | None:
    """The tree as an aggregate call, if it is one."""
    call = Call.of(tree)
    if call is None or (call.sorted and call.name not in COLLECTS):
        return None
    if isinstance(tree, exp.Any) and not is_aggregate(tree):
        return None
    return call if call.name in AGGREGATES or call.name in KNOWN else None


def put_in_order(tree: exp.Expr) -> exp.Expr:
    """size(collect_set(x)) is size(sort_array(collect_set(x))), and so for all that an order means nothing to."""
    if not isinstance(tree, exp.Anonymous) or function_name(tree) not in ORDERLESS or not tree.expressions:
        return tree
    first, *others = tree.expressions
    call = aggregate_call(first)
    if call is None or call.name not in COLLECTS or call.sorted:
        return tree
    in_order = exp.Anonymous(this="sort_array", expressions=[first.copy()])
    return exp.Anonymous(this=tree.this, expressions=[in_order, *(e.copy() for e in others)])


def lower_call(grouping: Grouping, tree: exp.Expr, call: Call) -> exp.Expr:
    """The value of a call, as an expression over keys and measures."""
    check(grouping, tree, call)
    function = KNOWN.get(call.name)
    if function is not None and (not call.distinct or function in EXTREMES):
        return measured(grouping, known_measure(grouping, tree, call, function))
    if call.name in ALL_OF or call.name in ANY_OF:
        return truth(grouping, call)
    if call.name == "count_if" and not call.distinct:
        return counted(grouping, call.arguments[0], call.condition)
    if call.name in ("regr_count", "regr_avgx", "regr_avgy") and not call.distinct:
        return over_pairs(grouping, call)
    if call.name in DETERMINED:
        return determined(grouping, tree, call)
    refuse_undetermined(grouping, tree, call)
    return measured(grouping, grouping.measure(Function.CALL, whole(grouping, tree, call), call.name))


def measured(grouping: Grouping, measure: Measure) -> exp.Expr:
    return col(measure.name).tree


def check(grouping: Grouping, tree: exp.Expr, call: Call) -> None:
    parts = [*call.arguments, *(o.this for o in call.order), *([call.condition] if call.condition is not None else [])]
    if not call.arguments and not call.order and call.name not in NOT_GENERIC:
        raise bad(f"{call.name}() needs an argument", "RV-AGGREGATE-ARGUMENT", tree, "only COUNT can take *")
    for part in parts:
        if isinstance(part, exp.Star) and call.name != "count":
            raise bad(f"{call.name}() needs an argument", "RV-AGGREGATE-ARGUMENT", tree, "only COUNT can take *")
        if isinstance(part, exp.Column) and isinstance(part.this, exp.Star):
            raise not_yet(f"{call.name}({part.table}.*)", "RV-AGGREGATE", tree, "name the columns")
        if has_aggregate(part):
            raise bad(
                "an aggregate cannot contain another", "RV-AGGREGATE-NESTED", tree, "put the inner one into a subquery"
            )
        if not isinstance(part, exp.Star):
            grouping.scalars.check(part)
    if call.name in NOT_GENERIC:
        raise not_yet(f"{call.name}()", "RV-AGGREGATE", tree)


def known_measure(grouping: Grouping, tree: exp.Expr, call: Call, function: Function) -> Measure:
    arguments = [] if isinstance(call.arguments[0], exp.Star) else list(call.arguments)
    if function is not Function.COUNT and len(arguments) > 1:
        raise bad(f"{call.name}() has one argument", "RV-AGGREGATE-ARGUMENT", tree)
    named = bool(arguments) and isinstance(arguments[0], exp.Column)
    stem = f"{function.value}_{arguments[0].name}" if named else ""
    return grouping.measure(function, argument(grouping, arguments, call.condition), stem)


def argument(grouping: Grouping, arguments: list[exp.Expr], condition: exp.Expr | None) -> Scalar | None:
    """The one argument whose non-NULL values the measure takes; None counts every row."""
    resolved = [grouping.scalars.lower(a, grouping.scope).tree for a in arguments]
    tests: list[exp.Expr] = [present(a) for a in resolved[:-1]]
    if condition is not None:
        tests.append(exp.Paren(this=grouping.scalars.lower(condition, grouping.scope).tree))
    value = resolved[-1] if resolved else exp.Literal.number(1)
    if not tests:
        return Scalar(value) if resolved else None
    return Scalar(exp.Case().when(exp.and_(*tests), value))


def present(tree: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=exp.Paren(this=tree.copy()), expression=exp.Null()))


def counted(grouping: Grouping, test: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    """How many rows satisfy the test."""
    both = exp.Paren(this=test.copy())
    tests = both if condition is None else exp.And(this=both, expression=exp.Paren(this=condition.copy()))
    one = exp.Case().when(tests, exp.Literal.number(1))
    return measured(grouping, grouping.measure(Function.COUNT, grouping.scalars.lower(one, grouping.scope), "count_if"))


def truth(grouping: Grouping, call: Call) -> exp.Expr:
    """BOOL_AND(p): no row says no; BOOL_OR(p): some row says yes. NULL if no row says anything."""
    test = exp.Paren(this=call.arguments[0].copy())
    every = call.name in ALL_OF
    said = argument(grouping, [call.arguments[0]], call.condition)
    none = exp.EQ(this=col(grouping.measure(Function.COUNT, said).name).tree, expression=exp.Literal.number(0))
    decisive = counted(grouping, exp.Not(this=test) if every else test, call.condition)
    comparison = exp.EQ if every else exp.GT
    return exp.Case().when(none, exp.Null()).else_(comparison(this=decisive, expression=exp.Literal.number(0)))


def over_pairs(grouping: Grouping, call: Call) -> exp.Expr:
    """REGR_COUNT, REGR_AVGX and REGR_AVGY (y, x): of the rows in which neither is NULL."""
    y, x = (grouping.scalars.lower(a, grouping.scope).tree for a in call.arguments)
    tests = [present(y), present(x)]
    if call.condition is not None:
        tests.append(exp.Paren(this=grouping.scalars.lower(call.condition, grouping.scope).tree))
    function = Function.COUNT if call.name == "regr_count" else Function.AVG
    value = exp.Literal.number(1) if call.name == "regr_count" else x if call.name == "regr_avgx" else y
    pair = Scalar(exp.Case().when(exp.and_(*tests), value))
    return measured(grouping, grouping.measure(function, pair, call.name))


def determined(grouping: Grouping, tree: exp.Expr, call: Call) -> exp.Expr:
    """FIRST, LAST and ANY_VALUE of what has one value in each group: it is as good as a key."""
    value = grouping.scalars.lower(call.arguments[0], grouping.scope)
    if not fixed(grouping, value, []):
        raise undetermined(
            f"which row {call.name}() takes its value from is not determined",
            tree,
            "group by the value too, or take MIN or MAX",
        )
    if call.condition is not None:
        return measured(
            grouping, grouping.measure(Function.MIN, argument(grouping, [call.arguments[0]], call.condition))
        )
    return col(grouping.add_key(value)).tree


def fixed(grouping: Grouping, value: Scalar, beside: list[Scalar]) -> bool:
    """Do the group's keys, with the values of some expressions, determine the value? A grouping set may lack a key."""
    keys = [e for _, e in grouping.keys] if grouping.sets is None else []
    if not keys and not beside:
        return False
    given = frozenset(e.column for e in [*keys, *beside] if e.column is not None)
    return value.columns <= facts.determined(grouping.scope.relation, given, grouping.tables)


def refuse_undetermined(grouping: Grouping, tree: exp.Expr, call: Call) -> None:
    """A view has one meaning only if the bag of a group's rows determines the value."""
    if call.name in UNSTABLE:
        raise never(
            f"{call.name}() depends on how Spark happens to spread the rows, so the view has no one meaning",
            "RV-APPROXIMATE",
            tree,
            "use the exact function: PERCENTILE, COUNT(DISTINCT …), or approx_count_distinct",
        )
    if call.name in COLLECTS and not call.sorted:
        raise undetermined(
            f"the order of the array that {call.name}() makes is not determined", tree, f"sort_array({call.name}(…))"
        )
    if call.name in TEXTS:
        ordered = [grouping.scalars.lower(o.this, grouping.scope) for o in call.order]
        value = grouping.scalars.lower(call.arguments[0], grouping.scope)
        same = any(str(o) in (str(value), str(bare_cast(value))) for o in ordered)
        if not ordered or not (same or fixed(grouping, value, ordered)):
            raise undetermined(
                f"the order in which {call.name}() joins its texts is not determined",
                tree,
                "WITHIN GROUP (ORDER BY …), and order by the text itself where there are ties",
            )
    if call.name == "mode" and not call.order and call.arguments[1:] != (exp.true(),):
        raise undetermined(
            "which of several most frequent values mode() takes is not determined", tree, "mode(x, true)"
        )
    if call.name in BESIDE:
        if len(call.arguments) != 2:
            raise bad(f"{call.name}() has two arguments", "RV-AGGREGATE-ARGUMENT", tree, f"{call.name}(x, y)")
        value, key = (grouping.scalars.lower(a, grouping.scope) for a in call.arguments)
        if not fixed(grouping, value, [key]):
            extreme = call.name.split("_")[0]
            raise undetermined(
                f"which of several rows {call.name}() takes its value from is not determined",
                tree,
                f"{extreme}(struct(y, x)).x, which breaks ties by x",
            )


def bare_cast(text: Scalar) -> Scalar:
    """What is cast to a text: equal values have equal ones, but not the other way round."""
    tree = text.tree.unnest()
    return Scalar(tree.this.unnest()) if isinstance(tree, exp.Cast) else Scalar(tree)


def undetermined(message: str, tree: exp.Expr, hint: str) -> UnsupportedView:
    return never(f"{message} by the rows of the group", "RV-UNDETERMINED", tree, hint)


def whole(grouping: Grouping, tree: exp.Expr, call: Call) -> Scalar:
    """The call over the columns of the scope; a FILTER inside the argument where that says the same."""
    if call.condition is not None and call.name in NULL_IGNORING and not call.distinct:
        first = exp.Case().when(operand(call.condition), call.arguments[0].copy())
        tree = exp.Anonymous(this=call.name, expressions=[first, *(a.copy() for a in call.arguments[1:])])
    return grouping.scalars.resolve(tree, grouping.scope)
