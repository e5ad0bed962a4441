"""What is said to answer another query does so: random views, a random edit of each, random histories."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
import sqlglot
from sqlglot import exp
from tests.law import Subject
from tests.property.cases import Case, batches
from tests.steps import Step

from rollview.errors import RollviewError
from rollview.plan.redefine import Stays, redefined

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH = 50
OPPOSITES: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.And: exp.Or,
    exp.Or: exp.And,
    exp.EQ: exp.NEQ,
    exp.GT: exp.GTE,
    exp.LT: exp.LTE,
    exp.Min: exp.Max,
    exp.Max: exp.Min,
    exp.Add: exp.Sub,
    exp.Sum: exp.Count,
}


def columns_chosen(tree: exp.Query, rng: Random) -> exp.Query:
    """Some of its columns, in another order, under other names."""
    names = [e.alias_or_name for e in tree.selects]
    chosen = rng.sample(names, rng.randint(1, len(names)))
    outer = [
        exp.alias_(exp.column(n, quoted=True), n if rng.random() < 0.5 else f"new_{n}", quoted=True) for n in chosen
    ]
    return exp.select(*outer).from_(tree.subquery("q"))


def conjuncts_turned(tree: exp.Query, rng: Random) -> exp.Query:
    for node in list(tree.find_all(exp.And)):
        node.replace(exp.And(this=node.expression.copy(), expression=node.this.copy()))
    return tree


def literal_changed(tree: exp.Query, rng: Random) -> exp.Query:
    found = [n for n in tree.find_all(exp.Literal) if n.is_int]
    if found:
        rng.choice(found).replace(exp.Literal.number(rng.randint(0, 3)))
    return tree


def operator_changed(tree: exp.Query, rng: Random) -> exp.Query:
    found = [n for n in tree.walk() if type(n) in OPPOSITES]
    if found:
        node = rng.choice(found)
        node.replace(OPPOSITES[type(node)](**{k: v for k, v in node.args.items() if k in ("this", "expression")}))
    return tree


def join_changed(tree: exp.Query, rng: Random) -> exp.Query:
    found = list(tree.find_all(exp.Join))
    if found:
        rng.choice(found).set("side", rng.choice(["LEFT", "RIGHT", "FULL", None]))
    return tree


def column_changed(tree: exp.Query, rng: Random) -> exp.Query:
    found = list(tree.find_all(exp.Column))
    if len(found) > 1:
        one, other = rng.sample(found, 2)
        one.replace(other.copy())
    return tree


def duplicates_changed(tree: exp.Query, rng: Random) -> exp.Query:
    node = rng.choice(list(tree.find_all(exp.Select, exp.Union)))
    if isinstance(node, exp.Union):
        node.set("distinct", not node.args.get("distinct"))
    else:
        node.set("distinct", None if node.args.get("distinct") else exp.Distinct())
    return tree


EDITS: tuple[Callable[[exp.Query, Random], exp.Query], ...] = (
    columns_chosen,
    conjuncts_turned,
    literal_changed,
    operator_changed,
    join_changed,
    column_changed,
    duplicates_changed,
)


def edited(sql: str, rng: Random) -> str:
    tree = sqlglot.parse_one(sql, read="spark")
    assert isinstance(tree, exp.Query)
    return rng.choice(EDITS)(tree, rng).sql("spark")


def check(seed: int) -> Stays | None:
    """What stays of the view of a seed after a random edit; None if the result is no view."""
    case = Case.of(seed)
    text = edited(case.sql, Random(seed))
    old = Subject.of(case.sql, case.tables)
    try:
        new = Subject.of(text, case.tables)
    except (RollviewError, NotImplementedError, ValueError):
        return None
    found = redefined(old.view, new.view)
    if found.stays is not Stays.NOTHING:
        kept = replace(new, view=found.view, plans={})
        for states in case.histories:
            for state in states:
                step = Step(case.tables, state, state)
                assert kept.read(step, old.stored(step)) == new.read(step, new.stored(step)), text
            leap = Step(case.tables, states[0], states[-1])
            first = old.stored(Step(case.tables, states[0], states[0]))
            assert kept.advance(leap, first, foreign_keys=True) == old.stored(leap), text
    return found.stays


@pytest.mark.parametrize("batch", batches(100, BATCH))
def test_kept_rows_answer_the_new_query(batch: int) -> None:
    met: Counter[Stays | None] = Counter()
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        try:
            met[check(seed)] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {Case.of(seed).sql}") from error
    assert min(met[s] for s in Stays) > 0, met
