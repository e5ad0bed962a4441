"""The refresh operator rendered as MERGE."""

from __future__ import annotations

from tests.law import Subject
from tests.rules.tables import by_name, scalar
from tests.rules.tables import table as table_of

from rollview.algebra.relation import Scan, State
from rollview.deltas.change_table import Update
from rollview.deltas.refresh import outer_refresh
from rollview.deltas.signed import Signed, net
from rollview.plan.emit import emit, sql, table
from rollview.plan.merge import merge_rows, merge_states, rendered

E, C = table("e"), table("c")


def test_states() -> None:
    assert sql(merge_states(E, C, ["k"], {"__count": Update.ADD, "s": Update.ADD}, keep_empty=False)) == (
        "MERGE INTO `e` AS `v` USING `c` AS `d` ON `v`.`k` IS NOT DISTINCT FROM `d`.`k` "
        "WHEN MATCHED AND `v`.`__count` + `d`.`__count` = 0 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET `__count` = `v`.`__count` + `d`.`__count`, `s` = `v`.`s` + `d`.`s` "
        "WHEN NOT MATCHED AND `d`.`__count` > 0 "
        "THEN INSERT (`k`, `__count`, `s`) VALUES (`d`.`k`, `d`.`__count`, `d`.`s`)"
    )


def test_the_one_row_of_a_global_aggregate_stays() -> None:
    assert sql(merge_states(E, C, [], {"__count": Update.ADD}, keep_empty=True)) == (
        "MERGE INTO `e` AS `v` USING `c` AS `d` ON TRUE "
        "WHEN MATCHED THEN UPDATE SET `__count` = `v`.`__count` + `d`.`__count` "
        "WHEN NOT MATCHED THEN INSERT (`__count`) VALUES (`d`.`__count`)"
    )


def test_rows() -> None:
    deleted = (
        "MERGE INTO `e` AS `v` USING `c` AS `d` ON `v`.`k` IS NOT DISTINCT FROM `d`.`k` AND `d`.`__count` < 0 "
        "WHEN MATCHED THEN DELETE"
    )
    assert sql(merge_rows(E, C, ["k"], ["k", "x"], insert=False)) == deleted
    assert sql(merge_rows(E, C, ["k"], ["k", "x"], insert=True)) == (
        f"{deleted} WHEN NOT MATCHED AND `d`.`__count` > 0 THEN INSERT (`k`, `x`) VALUES (`d`.`k`, `d`.`x`)"
    )


def test_an_outer_join_change_table_replaces_padded_rows() -> None:
    operator = outer_refresh(("s",), scalar("`v.r` IS NULL"), ("r",))
    assert sql(rendered(operator, E, C, ("r", "s"))) == (
        "MERGE INTO `e` AS `v` USING `c` AS `d` ON `v`.`s` IS NOT DISTINCT FROM `d`.`s` AND `v`.`r` IS NULL "
        "WHEN MATCHED THEN UPDATE SET `r` = `d`.`r` "
        "WHEN NOT MATCHED THEN INSERT (`r`, `s`) VALUES (`d`.`r`, `d`.`s`)"
    )


def test_groups_that_are_replaced_go_by_their_new_count() -> None:
    replaced = {"__count": Update.REPLACE, "m": Update.REPLACE}
    assert sql(merge_states(E, C, ["k"], replaced, keep_empty=False)) == (
        "MERGE INTO `e` AS `v` USING `c` AS `d` ON `v`.`k` IS NOT DISTINCT FROM `d`.`k` "
        "WHEN MATCHED AND `d`.`__count` = 0 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET `__count` = `d`.`__count`, `m` = `d`.`m` "
        "WHEN NOT MATCHED AND `d`.`__count` > 0 "
        "THEN INSERT (`k`, `__count`, `m`) VALUES (`d`.`k`, `d`.`__count`, `d`.`m`)"
    )


def test_a_key_that_is_never_null_is_compared_plainly() -> None:
    assert sql(merge_rows(E, C, ["k", "l"], ["k", "l"], insert=False, solid={"l"})) == (
        "MERGE INTO `e` AS `v` USING `c` AS `d` "
        "ON (`v`.`k` IS NOT DISTINCT FROM `d`.`k` AND `v`.`l` = `d`.`l`) AND `d`.`__count` < 0 "
        "WHEN MATCHED THEN DELETE"
    )


def test_which_keys_are_never_null() -> None:
    tables = by_name(table_of("r", "id, a", "id"), table_of("s", "id, r_id", "id"))
    for text, solid in {
        "SELECT s.id AS s, r.id AS r FROM s JOIN r ON s.r_id = r.id": 1,
        "SELECT s.id AS s, r.id AS r, r.a FROM s CROSS JOIN r": 2,
        "SELECT s.id AS s, r.id AS r FROM s LEFT JOIN r ON s.r_id < r.a": 1,
        "SELECT id, COUNT(*) AS n FROM r GROUP BY id": 1,
        "SELECT a, COUNT(*) AS n FROM r GROUP BY a": 0,
        "SELECT a, COUNT(*) AS n FROM r WHERE a > 1 GROUP BY a": 1,
        "SELECT id, a, COUNT(*) AS n FROM r GROUP BY ROLLUP (id, a)": 0,
    }.items():
        assert len(Subject.of(text, tables).view.extent.solid) == solid, text


def test_rows_of_a_key_are_brought_together_once() -> None:
    """By the MERGE's key, which the sum that makes the change net can use as well."""
    change = Scan("t", (("k", "k"), ("x", "x")), State.DELTA)
    assert sql(emit(net(Signed(change)), lambda scan: table(scan.table), spread=["k"])) == (
        "SELECT `q_2`.`k` AS `k`, `q_2`.`x` AS `x`, `q_2`.`__count` AS `__count` FROM ("
        "SELECT `q`.`k` AS `k`, `q`.`x` AS `x`, SUM(`q`.`__count`) AS `__count` FROM ("
        "SELECT /*+ REPARTITION(`k`) */ `t`.`k` AS `k`, `t`.`x` AS `x`, `t`.`__count` AS `__count` FROM `t` AS `t`"
        ") AS `q` GROUP BY `q`.`k`, `q`.`x`) AS `q_2` WHERE `q_2`.`__count` <> 0"
    )
