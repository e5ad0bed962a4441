"""The laws of the refresh operator: third column = fourth column of Gupta and Mumick's Tables 4, 5 and 7b, on bags.

E1(g, h, a, __count) is refreshed by □E1; E2(t, u) is joined with it. Table 4's p3 is read as "the count comes to zero",
row 7's □V as □E1 ⟕ E2. Barbier's Definition 5.7, Table 5.1, Table 5.2 and Theorem 5.8 follow.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.rules.tables import scalar

from rollview.algebra.interpreter import evaluate
from rollview.algebra.relation import (
    Aggregate,
    Filter,
    Function,
    Join,
    Measure,
    OuterJoin,
    Project,
    Relation,
    Scan,
    State,
    keep,
)
from rollview.algebra.scalar import Scalar, col
from rollview.deltas.refresh import Refresh, aggregate_refresh, outer_refresh, total
from rollview.names import COUNT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rollview.algebra.interpreter import Bag

E1 = ("g", "h", "a", COUNT)
E2 = ("t", "u")
CASES = range(25)
SUMS = (("a", total("a")), (COUNT, total(COUNT)))
GROUPS = aggregate_refresh(("g", "h"), SUMS, keep_empty=False)
BOTH = aggregate_refresh(("g", "h", *E2), SUMS, keep_empty=False)


def relation(name: str, columns: Sequence[str]) -> Scan:
    return Scan(name, tuple((c, c) for c in columns))


def rows_of(node: Relation, columns: Mapping[str, Sequence[str]], **bags: Bag) -> Bag:
    def source(table: str, state: State) -> tuple[tuple[str, ...], Bag]:
        return tuple(columns[table]), bags[table]

    return Counter({r: n for r, n in evaluate(node, source).items() if n})


def over(e1: Bag, e2: Bag, make: Any, columns: Sequence[str] = E1) -> Bag:
    """An expression over E1 and E2."""
    given = {"e1": columns, "e2": E2}
    return rows_of(make(relation("e1", columns), relation("e2", E2)), given, e1=e1, e2=e2)


def groups(rng: Random, *, deletions: bool = True) -> tuple[Bag, Bag]:
    """An aggregate's extent, and a change table that leaves no group with fewer than no rows."""
    stored: dict[tuple[Any, Any], tuple[int, int]] = {}
    for _ in range(rng.randint(0, 6)):
        stored[rng.choice((1, 2, 3)), rng.choice((1, 2, None))] = (rng.randint(-3, 3), rng.randint(1, 3))
    change: dict[tuple[Any, Any], tuple[int, int]] = {}
    for key in set(stored) | {(rng.choice((1, 2, 3)), rng.choice((1, 2, None))) for _ in range(3)}:
        if rng.random() < 0.6:
            least = -stored[key][1] if key in stored and deletions else 1
            count = rng.randint(least, 2)
            gone = key in stored and stored[key][1] + count == 0
            change[key] = (-stored[key][0] if gone else rng.randint(-3, 3), count)
    change = {k: v for k, v in change.items() if k in stored or v[1] > 0}
    return tuple(Counter({(*k, *v): 1 for k, v in bag.items()}) for bag in (stored, change))  # type: ignore[return-value]


def partners(rng: Random, *, duplicates: bool = False) -> Bag:
    rows = [(rng.choice((1, 2, 3, None)), rng.randint(1, 2)) for _ in range(rng.randint(0, 5))]
    return Counter(rows) if duplicates else Counter(set(rows))


@pytest.mark.parametrize("seed", CASES)
def test_table_4_row_1_selection_on_the_key(seed: int) -> None:
    e1, box = groups(Random(seed))
    chosen = lambda e, _: Filter(e, scalar("g > 1 AND h IS NOT NULL"))  # noqa: E731
    third = over(GROUPS.apply(E1, e1, box), Counter(), chosen)
    assert third == GROUPS.apply(E1, over(e1, Counter(), chosen), over(box, Counter(), chosen))


@pytest.mark.parametrize("seed", CASES)
def test_table_4_row_2_projection_that_keeps_what_theta_reads(seed: int) -> None:
    e1, box = groups(Random(seed))
    kept = ("g", "h", COUNT)
    fewer = aggregate_refresh(("g", "h"), SUMS[1:], keep_empty=False)
    shown = lambda e, _: keep(e, kept)  # noqa: E731
    third = over(GROUPS.apply(E1, e1, box), Counter(), shown)
    assert third == fewer.apply(kept, over(e1, Counter(), shown), over(box, Counter(), shown))


@pytest.mark.parametrize("seed", CASES)
@pytest.mark.parametrize("condition", [None, "g = t", "g < t", "g = t AND h = u"])
def test_table_4_rows_3_and_4_product_and_join_on_the_key(seed: int, condition: str | None) -> None:
    rng = Random(seed)
    e1, box = groups(rng)
    e2 = partners(rng, duplicates=True)
    joined = lambda a, b: Join(a, b, None if condition is None else scalar(condition))  # noqa: E731
    third = over(GROUPS.apply(E1, e1, box), e2, joined)
    assert third == BOTH.apply((*E1, *E2), over(e1, e2, joined), over(box, e2, joined))


@pytest.mark.parametrize("seed", CASES)
def test_table_4_row_5_union(seed: int) -> None:
    rng = Random(seed)
    e1, box = groups(rng)
    e2 = groups(rng)[0]
    third = GROUPS.apply(E1, e1, box) + e2
    assert third == GROUPS.apply(E1, (e1 + e2) - e2, box) + e2


@pytest.mark.parametrize("seed", CASES)
def test_table_4_row_6_aggregate_by_fewer_keys(seed: int) -> None:
    e1, box = groups(Random(seed))
    above = lambda e, _: Aggregate(e, (("g", col("g")),), summed())  # noqa: E731
    operator = aggregate_refresh(("g",), SUMS, keep_empty=False)
    third = over(GROUPS.apply(E1, e1, box), Counter(), above)
    assert third == operator.apply(("g", "a", COUNT), over(e1, Counter(), above), over(box, Counter(), above))


def summed() -> tuple[Measure, ...]:
    return (Measure("a", Function.SUM, col("a")), Measure(COUNT, Function.SUM, col(COUNT)))


@pytest.mark.parametrize("seed", CASES)
def test_table_4_row_7_outer_join_without_deletions(seed: int) -> None:
    """A group that is there takes its change; a new one takes the place of a padded row, if its partner had one."""
    rng = Random(seed)
    e1, box = groups(rng, deletions=False)
    e2 = partners(rng)
    columns = (*E1, *E2)
    full = lambda a, b: OuterJoin(a, b, scalar("g = t"), keeps_left=True, keeps_right=True)  # noqa: E731
    third = over(GROUPS.apply(E1, e1, box), e2, full)
    old = Counter({r: n for r, n in box.items() if any(r[:2] == s[:2] for s in e1)})
    grown = BOTH.apply(columns, over(e1, e2, full), over(old, e2, left))
    unpadded = outer_refresh(E2, scalar("`v.__count` IS NULL"), E1)
    assert third == unpadded.apply(columns, grown, over(box - old, e2, left))


def left(a: Relation, b: Relation) -> Relation:
    return OuterJoin(a, b, scalar("g = t"))


# --- outer-join change tables: R(a, c) and S(d, e), joined on c = d

R, S = ("r_id", "c"), ("s_id", "d")
PAD = {"r": scalar("`v.r_id` IS NULL"), "s": scalar("`v.s_id` IS NULL")}


def side(rng: Random, first: int, size: int) -> Bag:
    return Counter((first + i, rng.choice((1, 2, 3, None))) for i in range(rng.randint(0, size)))


def view(r: Bag, s: Bag, *, keeps_left: bool = True, keeps_right: bool = True) -> Bag:
    node = OuterJoin(relation("r", R), relation("s", S), scalar("c = d"), keeps_left, keeps_right)
    return rows_of(node, {"r": R, "s": S}, r=r, s=s)


@pytest.mark.parametrize("seed", CASES)
def test_theorem_2_insertions_into_one_side(seed: int) -> None:
    """V ⊔ (ΔR ⟕ S) with θ = (same row of S ∧ padded, FALSE); for ΔS it is ΔS ⟕ R, as in Example 5."""
    rng = Random(seed)
    r, s = side(rng, 0, 4), side(rng, 0, 4)
    more_r, more_s = side(rng, 10, 3), side(rng, 10, 3)
    into_r = outer_refresh(S, PAD["r"], R).apply((*R, *S), view(r, s), view(more_r, s, keeps_right=False))
    assert into_r == view(r + more_r, s)
    into_s = outer_refresh(R, PAD["s"], S).apply((*R, *S), view(r, s), view(r, more_s, keeps_left=False))
    assert into_s == view(r, s + more_s)


T = ("d2", "f")
THREE = (*R, *S, *T)


@pytest.mark.parametrize("seed", CASES)
def test_table_7b_an_outer_join_above_an_outer_join(seed: int) -> None:
    """E1 = R ⟗ S gained rows of R; V = E1 ⟗ T on a column of S, which lasts. Padded rows are told by R's key."""
    rng = Random(seed)
    r, s, more = side(rng, 0, 4), side(rng, 0, 4), side(rng, 10, 3)
    t = Counter({(d, i): 1 for i, d in enumerate(rng.sample((1, 2, 3), rng.randint(0, 3)))})

    def above(e1: Bag, *, keeps_right: bool) -> Bag:
        node = OuterJoin(relation("e1", (*R, *S)), relation("t", T), scalar("d = d2"), True, keeps_right)
        return rows_of(node, {"e1": (*R, *S), "t": T}, e1=e1, t=t)

    third = above(view(r + more, s), keeps_right=True)
    change = above(view(more, s, keeps_right=False), keeps_right=False)
    fourth = outer_refresh((*S, *T), PAD["r"], R).apply(THREE, above(view(r, s), keeps_right=True), change)
    assert third == fourth


def chosen(bag: Bag, test: str) -> Bag:
    return rows_of(Filter(relation("v", (*R, *S)), scalar(test)), {"v": (*R, *S)}, v=bag)


@pytest.mark.parametrize("seed", CASES)
def test_theorem_3_selections_on_the_standing_side_pass_outer_join_change_tables(seed: int) -> None:
    rng = Random(seed)
    r, s, more = side(rng, 0, 4), side(rng, 0, 4), side(rng, 10, 3)
    change = view(more, s, keeps_right=False)
    found = outer_refresh(S, PAD["r"], R).apply((*R, *S), chosen(view(r, s), "s_id > 0"), chosen(change, "s_id > 0"))
    assert found == chosen(view(r + more, s), "s_id > 0")


def test_theorem_3_is_wrong_for_selections_that_padded_rows_pass() -> None:
    """It lets σ pass whatever it reads. But (NULL, s) is selected here, its successor (r, s) is not, so nothing in
    σ(□E1) takes the padded row away. The law wins: rules/outer_change.py carries the rows that go apart."""
    r, s, more = Counter[Any](), Counter({(1, 1): 1}), Counter({(7, 1): 1})
    test = "r_id IS NULL"
    change = chosen(view(more, s, keeps_right=False), test)
    assert not change
    fourth = outer_refresh(S, PAD["r"], R).apply((*R, *S), chosen(view(r, s), test), change)
    assert fourth == {(None, None, 1, 1): 1}
    assert chosen(view(r + more, s), test) == {}


# --- deletions through outer joins: Algorithm 1, and its set-oriented restatement


def algorithm_1(stored: Bag, change: Bag) -> Bag:
    """OJDeletion-refresh, tuple by tuple: (r, s) goes if s has another partner left, and is padded otherwise."""
    result = Counter(stored)
    for row in change.elements():
        s = row[2:]
        result[row] -= 1
        if s != (None, None) and not any(n > 0 and other[2:] == s for other, n in result.items()):
            result[None, None, *s] += 1
    return +result


@pytest.mark.parametrize("seed", CASES)
def test_algorithm_1_and_its_set_oriented_form_agree(seed: int) -> None:
    """Partners before less partners removed: zero means padded."""
    rng = Random(seed)
    r, s = side(rng, 0, 5), side(rng, 0, 4)
    gone = Counter(rng.sample(sorted(r, key=str), rng.randint(0, len(r))))
    change = view(gone, s, keeps_right=False)
    right = view(r - gone, s)
    assert algorithm_1(view(r, s), change) == right
    partners_left = Counter({row: n - gone_of(change, row) for row, n in partnered(view(r, s)).items()})
    padded = Counter({(None, None, *row): 1 for row in partnered(change) if not partners_left[row]})
    assert (view(r, s) - change) + padded == right


def partnered(rows: Bag) -> Counter[Any]:
    """How many partners each row of S has."""
    return Counter(row[2:] for row in rows.elements() if row[0] is not None and row[2] is not None)


def gone_of(change: Bag, row: Any) -> int:
    return partnered(change)[row]


@pytest.mark.parametrize("seed", CASES)
@pytest.mark.parametrize("row", ["1", "2", "4", "5"])
def test_table_5_deletions_pass_what_reads_only_the_standing_side(seed: int, row: str) -> None:
    """E1 = R ⟗ S loses rows of R; G = Attrs(S). Row 6 nests another outer join: see the property tests."""
    rng = Random(seed)
    r, s = side(rng, 0, 5), side(rng, 0, 4)
    gone = Counter(rng.sample(sorted(r, key=str), rng.randint(0, len(r))))
    columns = (*R, *S)
    t = Counter({(d, i): 1 for i, d in enumerate((1, 2))})
    operations: dict[str, Any] = {
        "1": lambda e: Filter(e, scalar("s_id > 0")),
        "2": lambda e: keep(e, columns),
        "4": lambda e: Join(e, relation("t", T), scalar("d = d2")),
        "5": lambda e: e,
    }

    def above(bag: Bag) -> Bag:
        return rows_of(operations[row](relation("e", columns)), {"e": columns, "t": T}, e=bag, t=t)

    extra = Counter({(99, 1, 99, 1): 2}) if row == "5" else Counter[Any]()
    third = above(algorithm_1(view(r, s), view(gone, s, keeps_right=False))) + extra
    stored = (above(view(r, s)) + extra) - extra
    change = above(view(gone, s, keeps_right=False))
    if row == "4":  # θ1 = θ ∧ same row of T: one row of S meets at most one of T here
        padded = {k[2:] for k in above(view(r - gone, s)) if k[0] is None}
        fourth = stored - change + Counter({(None, None, *k): 1 for k in {c[2:] for c in change} & padded})
    else:
        fourth = algorithm_1(stored, Counter({c: n for c, n in change.items() if row != "1" or c[2] is not None}))
    assert third == fourth + extra


# --- Barbier


@pytest.mark.parametrize("seed", CASES)
def test_barbier_definition_5_7(seed: int) -> None:
    """E ⊔ □Q = (E - D) ∪ U ∪ N: D the corresponding rows, U their combinations that have causes left, N the rest."""
    e, box = groups(Random(seed))
    by_key = {r[:2]: r for r in box}
    d = {r for r in e if r[:2] in by_key}
    combined = {(*r[:2], r[2] + by_key[r[:2]][2], r[3] + by_key[r[:2]][3]) for r in d}
    u = {r for r in combined if r[3] != 0}
    n = {r for r in box if r[:2] not in {x[:2] for x in e}}
    assert set(GROUPS.apply(E1, e, box)) == (set(e) - d) | u | n


Q = ("k", "x")


def extent(node_rows: Bag) -> Bag:
    """τ(γ) at a conversion point (Table 5.1): the sums and the count of causes."""
    node = Aggregate(
        relation("q", Q), (("k", col("k")),), (Measure("a", Function.SUM, col("x")), Measure(COUNT, Function.COUNT))
    )
    return rows_of(node, {"q": Q}, q=node_rows)


@pytest.mark.parametrize("seed", CASES)
@pytest.mark.parametrize("operator", ["σ", "π", "×"])
def test_barbier_tables_5_1_and_5_2_and_theorem_5_8(seed: int, operator: str) -> None:
    """E(D_old) ⊔ □V = E(D_new), where τ carries the counts and □ is propagated as Table 5.2 says."""
    rng = Random(seed)
    before = Counter((rng.randint(1, 3), rng.randint(0, 4)) for _ in range(rng.randint(0, 6)))
    gone = Counter(rng.sample(sorted(before.elements()), rng.randint(0, before.total())))
    came = Counter((rng.randint(1, 4), rng.randint(0, 4)) for _ in range(rng.randint(0, 3)))
    other = Counter({(t, 1): 1 for t in rng.sample((1, 2, 3), 2)})
    columns = ("k", "a", COUNT)
    signed = [(k, x, 1) for k, x in came.elements()] + [(k, -x, -1) for k, x in gone.elements()]
    box = rows_of(
        Aggregate(relation("d", ("k", "x", COUNT)), (("k", col("k")),), sums("x")),
        {"d": ("k", "x", COUNT)},
        d=Counter(signed),
    )
    box = Counter({r: n for r, n in box.items() if r[1] or r[2]})

    def transformed(bag: Bag) -> Bag:
        e, t = relation("e", columns), relation("t", E2)
        node: Relation
        if operator == "σ":
            node = Filter(e, scalar("k > 1"))
        elif operator == "π":
            node = Aggregate(e, (("k", scalar("k > 2")),), sums("a"))
        else:
            node = Project(Join(e, t), tuple((c, col(c)) for c in (*columns[:2], *E2, COUNT)))
        return rows_of(node, {"e": columns, "t": E2}, e=bag, t=other)

    shape = (*columns[:2], *E2, COUNT) if operator == "×" else columns
    key = ("k", *E2) if operator == "×" else ("k",)
    refresh = aggregate_refresh(key, SUMS, keep_empty=False)
    found = refresh.apply(shape, transformed(extent(before)), transformed(box))
    assert found == transformed(extent(before - gone + came))


def sums(argument: str) -> tuple[Measure, ...]:
    return (Measure("a", Function.SUM, col(argument)), Measure(COUNT, Function.SUM, col(COUNT)))


# --- the operator itself


def test_it_matches_one_to_one() -> None:
    twice = Refresh(("k",), (("x", Scalar(scalar("`v.x` + `d.x`").tree)),))
    assert twice.apply(("k", "x"), Counter({(1, 1): 2}), Counter({(1, 5): 1})) == {(1, 1): 1, (1, 6): 1}
    assert twice.apply(("k", "x"), Counter({(None, 1): 1}), Counter({(None, 5): 2})) == {(None, 6): 1, (None, 5): 1}


@pytest.mark.parametrize("seed", CASES)
def test_refreshing_twice_is_refreshing_by_the_sum(seed: int) -> None:
    rng = Random(seed)
    e1, first = groups(rng)
    middle = GROUPS.apply(E1, e1, first)
    second = Counter({(g, h, rng.randint(-2, 2), rng.randint(0, 2)): 1 for g, h, _, _ in middle})
    both: dict[Any, tuple[int, int]] = {}
    for g, h, a, n in [*first, *second]:
        old = both.get((g, h), (0, 0))
        both[g, h] = (old[0] + a, old[1] + n)
    at_once = GROUPS.apply(E1, e1, Counter({(*k, *v): 1 for k, v in both.items()}))
    assert GROUPS.apply(E1, middle, second) == at_once
