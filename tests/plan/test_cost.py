"""The cost model: guesses first, and then what this view's own refreshes took."""

from __future__ import annotations

from rollview.plan.cost import Learned, Work, estimate, learn

MB = 1 << 20


def test_a_look_up_of_all_tables_is_tried_before_it_is_given_up() -> None:
    work = Work(delta_rows=1000, base_bytes=500 * MB, looked_up_bytes=900 * MB, extent_bytes=MB, merged_bytes=MB)
    assert not estimate(work).recompute_is_cheaper


def test_a_delta_as_large_as_the_tables_is_recomputed() -> None:
    work = Work(delta_rows=5_000_000, base_bytes=200 * MB, looked_up_bytes=200 * MB, extent_bytes=MB, merged_bytes=MB)
    assert estimate(work).recompute_is_cheaper


WORK = Work(delta_rows=1000, base_bytes=100 * MB, looked_up_bytes=100 * MB, extent_bytes=MB, merged_bytes=MB)


def test_nothing_is_learned_from_one_refresh_or_without_a_recompute() -> None:
    assert learn([(0.7, 7.0)], [], [(1.6, 2.0)]) == Learned(), "the first may have been a cold start"
    assert learn([(0.7, 7.0), (0.7, 7.7)], [], []) == Learned(), "nobody knows what a recompute takes"


def test_two_slow_refreshes_are_enough_to_recompute() -> None:
    created = [(1.6, 2.0)]
    learned = learn([(0.7, 7.0), (0.7, 7.7)], [], created)
    assert (learned.incremental, learned.recompute) == (10.0, 0.625), "a creation takes twice as long as a recompute"
    assert estimate(WORK, learned).recompute_is_cheaper
    assert not estimate(WORK, learn([(0.7, 0.8), (0.7, 7.7)], [], created)).recompute_is_cheaper, "the best counts"


def test_long_refreshes_make_a_recompute_worth_trying_once() -> None:
    slow, created = [(0.7, 1.5), (0.7, 1.6)], [(1.6, 2.6)]
    learned = learn(slow, [], created)
    assert learned.tries and not estimate(WORK, learned).recompute_is_cheaper
    assert not learn(slow, [], [(1.6, 5.0)]).tries, "a recompute would take longer anyhow"
    assert not learn([(0.7, 0.5), (0.7, 0.6)], [], [(0.4, 0.6)]).tries, "short refreshes are left alone"
    assert not learn(slow, [(1.6, 0.7)], created).tries, "it is known"


def test_a_recompute_is_tried_where_it_can_hardly_lose() -> None:
    """TPC-H's q11, if every table changes: even its creation was shorter than each refresh."""
    slow, quick = [(0.5, 0.57), (0.5, 0.68)], [(0.5, 0.09), (0.5, 0.08)]
    assert learn(slow, [], [(0.76, 0.47)]).tries
    assert not learn(slow, [], [(0.76, 0.97)], spent=7.9).tries
    assert learn(slow, [], [(0.76, 0.97)], spent=8.1).tries, "of what was spent, a twentieth may go to a trial"
    assert not learn(quick, [], [(0.76, 0.05)], spent=100.0).tries, "there is nothing to be gained"


def test_what_was_seen_decides() -> None:
    slow, created = [(0.7, 1.5), (0.7, 1.6)], [(1.6, 2.6)]
    assert estimate(WORK, learn(slow, [(1.6, 0.7)], created)).recompute_is_cheaper
    assert not estimate(WORK, learn(slow, [(1.6, 2.4)], created)).recompute_is_cheaper


def test_other_changes_make_other_refreshes() -> None:
    """What refreshes took before the changes were others does not count for long."""
    slow, quick = [(0.7, 7.0)] * 2, [(0.7, 0.3)] * 5
    assert estimate(WORK, learn([*slow, *quick], [(1.6, 1.0)], [])).recompute_is_cheaper
    assert not estimate(WORK, learn([*quick, *slow], [(1.6, 1.0)], [])).recompute_is_cheaper


def test_what_was_learned_stays_learned() -> None:
    """It once was forgotten: the corrected prediction was compared with what came about, and nothing was to correct."""
    incremental: list[tuple[float | None, float | None]] = []
    recompute: list[tuple[float | None, float | None]] = []
    ways = []
    for _ in range(12):
        predicted = estimate(WORK, learn(incremental, recompute, [(1.6, 2.0)]))
        ways.append(predicted.recompute_is_cheaper)
        if ways[-1]:
            recompute.insert(0, (predicted.model[1], 1.0))
        else:
            incremental.insert(0, (predicted.model[0], 7.0))
    assert ways == [False, False] + [True] * 10


def test_the_first_recompute_may_have_been_a_cold_start() -> None:
    incremental = [(0.7, 2.0), (0.7, 2.1)]
    assert estimate(WORK, learn(incremental, [(1.6, 2.4)], [])).recompute_is_cheaper, "it is given a second chance"
    assert not estimate(WORK, learn(incremental, [(1.6, 2.4), (1.6, 2.4)], [])).recompute_is_cheaper
    assert estimate(WORK, learn(incremental, [(1.6, 0.9), (1.6, 2.4)], [])).recompute_is_cheaper


def test_a_second_chance_where_both_took_about_as_long() -> None:
    """TPC-H's q11, if every table changes: the first recompute took as long as a refresh, the next ones half of it."""
    incremental = [(0.5, 0.77), (0.5, 1.15)]
    work = Work(1_500, 30_000_000, 30_000_000, 0, 0)
    assert estimate(work, learn(incremental, [(0.77, 0.75)], [(0.76, 0.53)])).recompute_is_cheaper
    assert estimate(work, learn(incremental, [(0.77, 0.4), (0.77, 0.75)], [(0.76, 0.53)])).recompute_is_cheaper
