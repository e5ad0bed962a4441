"""The refresh operator rendered as MERGE."""

from __future__ import annotations

from tests.rules.tables import scalar

from rollview.deltas.change_table import Update
from rollview.deltas.refresh import outer_refresh
from rollview.plan.emit import sql, table
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
