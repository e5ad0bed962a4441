"""The cost model: guesses first, and then what this view's own refreshes took."""

from __future__ import annotations

from rollview.plan.cost import Work, estimate, scales

MB = 1 << 20


def test_a_look_up_of_all_tables_is_tried_before_it_is_given_up() -> None:
    work = Work(delta_rows=1000, base_bytes=500 * MB, looked_up_bytes=900 * MB, extent_bytes=MB, merged_bytes=MB)
    assert not estimate(work).recompute_is_cheaper


def test_a_delta_as_large_as_the_tables_is_recomputed() -> None:
    work = Work(delta_rows=5_000_000, base_bytes=200 * MB, looked_up_bytes=200 * MB, extent_bytes=MB, merged_bytes=MB)
    assert estimate(work).recompute_is_cheaper


def test_two_slow_refreshes_are_enough_to_recompute() -> None:
    work = Work(delta_rows=1000, base_bytes=100 * MB, looked_up_bytes=100 * MB, extent_bytes=MB, merged_bytes=MB)
    created = [(1.6, 2.0)]
    assert scales([(0.7, 7.0)], created) == (1.0, 1.0), "the first may have been a cold start"
    assert scales([(0.7, 7.0), (0.7, 7.7)], []) == (1.0, 1.0), "nobody knows what a recompute takes"
    learned = scales([(0.7, 7.0), (0.7, 7.7)], created)
    assert learned == (10.0, 1.25)
    assert estimate(work, *learned).recompute_is_cheaper
    assert not estimate(work, *scales([(0.7, 0.8), (0.7, 7.7)], created)).recompute_is_cheaper, "the best counts"
