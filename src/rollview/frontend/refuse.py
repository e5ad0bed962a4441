"""What is refused, with the reason. One table of codes, so that docs and messages cannot drift apart."""

from __future__ import annotations

from sqlglot import exp

from rollview.errors import BadInput, NotYetSupported, Position, UnsupportedView


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NONDETERMINISTIC = words(
    """
    rand randn random uuid shuffle aes_encrypt monotonically_increasing_id spark_partition_id input_file_name
    input_file_block_start input_file_block_length now current_timestamp current_date curdate current_time
    localtimestamp unix_timestamp current_timezone current_user user session_user version current_catalog
    current_database current_schema randstr uniform reflect java_method try_reflect
    """
)
ARGUMENT_FREE_ONLY = frozenset(["unix_timestamp"])
"""nondeterministic only when called without arguments"""

AGGREGATES = words(
    """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine
    array_agg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list
    collect_set corr count_if count_min_sketch covar_pop covar_samp every first first_value grouping grouping_id
    histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float
    kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis last last_value listagg max max_by
    mean median min min_by mode percentile percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness some std stddev stddev_pop
    schema_of_variant_agg stddev_samp string_agg theta_intersection_agg theta_sketch_agg theta_union_agg try_avg
    try_sum var_pop var_samp variance
    """
)
ROW_GENERATORS = words(
    """
    explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple variant_explode
    variant_explode_outer
    """
)
"""functions that make any number of rows of one"""
GENERATORS = ROW_GENERATORS | words("window session_window")


WINDOW_FUNCTIONS = words(
    """
    row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value first last_value last nth_value
    any_value count sum avg min max mean count_if bool_and bool_or every some bit_and bit_or bit_xor
    stddev stddev_samp stddev_pop std variance var_samp var_pop covar_pop covar_samp corr skewness kurtosis
    collect_list array_agg try_sum try_avg median percentile percentile_cont percentile_disc approx_count_distinct
    regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
    """
)
"""what may stand before OVER: functions of the rows in the frame, of their order at most"""


def position(node: exp.Expr | None) -> Position | None:
    """Where a node stands in the user's text: its first token that remembers, or else what it is a part of."""
    while node is not None:
        for part in node.walk():
            line = part.meta_get("line")
            if line is not None:
                width = part.meta_get("end", 0) - part.meta_get("start", 0)
                return Position(line, max(1, part.meta_get("col", 1) - width))
        node = node.parent
    return None


def not_yet(what: str, code: str, node: exp.Expr | None, hint: str | None = None) -> NotYetSupported:
    return NotYetSupported(
        f"{what} cannot be maintained from changes yet",
        code=code,
        position=position(node),
        hint=hint or "policy 'auto' or 'full' keeps such a view by recompute",
    )


def never(message: str, code: str, node: exp.Expr | None, hint: str | None = None) -> UnsupportedView:
    return UnsupportedView(message, code=code, position=position(node), hint=hint)


def bad(message: str, code: str, node: exp.Expr | None, hint: str | None = None) -> BadInput:
    return BadInput(message, code=code, position=position(node), hint=hint)


def place_of(tree: exp.Expr, count: int, clause: str) -> int:
    """The place in the SELECT list, from 0, that a number in GROUP BY or ORDER BY names."""
    text = tree.unnest().sql("spark")
    place = int(text) if text.isdigit() else 0
    if not 1 <= place <= count:
        message = f"position {text} of {clause} is not in the SELECT list"
        raise bad(message, "RV-GROUP-POSITION", tree, f"positions go from 1 to {count}")
    return place - 1


def function_name(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else node.key
