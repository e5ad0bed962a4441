"""EXPLAIN: the same plan that runs, told to a person."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from sqlglot import exp

from rollview.algebra.relation import (
    Aggregate,
    AntiJoin,
    Filter,
    Generate,
    Join,
    MarkJoin,
    OuterJoin,
    Project,
    Recall,
    Recursion,
    Relation,
    Scan,
    SemiJoin,
    State,
    UnionAll,
    Values,
    Window,
)
from rollview.algebra.schema import Tables
from rollview.plan.compile import CompiledView
from rollview.plan.emit import emit, sql, table
from rollview.plan.extent import Kind
from rollview.plan.maintain import Maintenance, maintain
from rollview.plan.merge import merge_rows, merge_states
from rollview.plan.rederive import rederived
from rollview.plan.timing import timing
from rollview.reasons import REASONS
from rollview.rules.dispatch import Shape


@dataclass(frozen=True, slots=True)
class Strategy:
    """What happens when one base table changes."""

    table: str
    how: str
    scans: tuple[str, ...]
    sql: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that is known about how a view is kept."""

    view: str
    policy: str
    algebra: str
    stored: str
    strategies: Sequence[Strategy]
    merge: str
    reasons: Sequence[str]
    cost: str

    def __str__(self) -> str:
        parts = [f"View {self.view} (policy {self.policy})", "", "Algebra", indent(self.algebra), "", "Stored"]
        parts += [indent(self.stored), ""]
        for strategy in self.strategies:
            parts += [f"When {strategy.table} changes: {strategy.how}", indent("scans " + ", ".join(strategy.scans))]
            parts += [indent(strategy.sql), ""]
        if self.merge:
            parts += ["Apply", indent(self.merge), ""]
        if self.reasons:
            parts += ["Reasons", *(indent(r) for r in self.reasons), ""]
        parts += ["Cost", indent(self.cost)]
        return "\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def as_dict(self) -> dict[str, Any]:
        return {
            "view": self.view,
            "policy": self.policy,
            "algebra": self.algebra,
            "stored": self.stored,
            "strategies": [
                {"table": s.table, "how": s.how, "scans": list(s.scans), "sql": s.sql} for s in self.strategies
            ],
            "merge": self.merge,
            "reasons": list(self.reasons),
            "cost": self.cost,
        }


@dataclass(frozen=True, slots=True)
class StoredPart:
    """Inner groups, or the rounds of a recursion, that are stored for a view."""

    sql: str
    rows: int
    bytes: int

    def __str__(self) -> str:
        return f"a part of {self.rows:,} rows, {self.bytes:,} bytes: {self.sql}"


def explain(
    view: Any,
    compiled: CompiledView | None,
    base: Tables,
    last: Any,
    views: Container[str] = (),
    parts: Sequence[str] = (),
) -> Explanation:
    """`view` is the stored relation, `last` the newest row of its refresh history, `views` what else is a view."""
    policy = str(view.definition["policy"])
    reasons = [reason(code) for code in [view.definition.get("recompute_reason")] if code]
    if compiled is None:
        text = "recomputed from " + view.definition["sql"]
        return Explanation(view.name, policy, text, "its rows", (), "", reasons, cost(last))
    stops = timing(compiled, views)
    reasons += [reason(code) for code in (*compiled.notes, *([stops.reason] if stops.reason else []))]
    strategies = tuple(strategy(compiled, t, base, view.name.lower()) for t in sorted(compiled.reads))
    merged = sql(merge_of(compiled), pretty=True)
    kept = "\n".join([stored(compiled), *parts])
    return Explanation(view.name, policy, tree(compiled.definition), kept, strategies, merged, reasons, cost(last))


def strategy(view: CompiledView, changed: str, base: Tables, own: str) -> Strategy:
    reserve = view.extent.reserve
    bound = reserve.placeholders if reserve is not None else None
    plan = maintain(view, {changed: Shape(updates=base[changed].key is not None)}, base, bound=bound, own=own)
    scans = tuple(sorted({f"{s.table} {s.at.name}" for s in plan.scans}))
    if plan.change is None:
        return Strategy(changed, "nothing to do: the declared keys leave no term", scans, "")
    text = sql(emit(plan.change, placeholder), pretty=True)
    if plan.rederives:
        text += "\n\n-- the groups to re-derive\n" + sql(emit(rederived(view.extent), placeholder), pretty=True)
    if view.extent.group_reserve is not None:
        placed, anew = view.extent.group_reserve.placed(), view.extent.group_reserve.rederived()
        text += "\n\n-- what of it is stored\n" + sql(emit(placed, placeholder), pretty=True)
        text += "\n\n-- groups whose reserve is used up\n" + sql(emit(anew, placeholder), pretty=True)
    return Strategy(changed, how(plan) + alone(view, changed, base), scans, text)


def how(plan: Maintenance) -> str:
    if plan.kind is Kind.AGGREGATE:
        if plan.always:
            return "the changed groups are re-derived from the tables after the span, and replaced"
        if plan.rederives:
            return "change table, merged by its update functions; groups whose extreme was deleted are re-derived"
        return "change table, merged by its update functions"
    text = "signed delta, merged by key" if plan.kind is Kind.KEYED else "signed delta of a bag"
    return f"{text}, as far as it falls into the stored first rows of a group" if plan.refills else text


def alone(view: CompiledView, changed: str, base: Tables) -> str:
    """What is different if the table only gains rows."""
    gaining = maintain(view, {changed: Shape(deletes=False, updates=False)}, base)
    if not gaining.may_miss:
        return ""
    read = ", ".join(sorted({s.table for s in gaining.scans if not s.at.signed}))
    return f"; insertions alone by an outer-join change table, which reads only {read}"


def merge_of(view: CompiledView) -> exp.Merge:
    extent = view.extent
    if extent.states is not None:
        updates = extent.states.updates
        keep = not extent.key
        return merge_states(table("extent"), table("change"), extent.key, updates, keep_empty=keep, solid=extent.solid)
    return merge_rows(table("extent"), table("change"), extent.key, extent.columns, insert=True, solid=extent.solid)


def placeholder(scan: Scan) -> exp.Table:
    return table(scan.table if scan.at is State.AFTER else f"{scan.table}@{scan.at.value}")


def stored(view: CompiledView) -> str:
    extent = view.extent
    hidden = list(extent.hidden)
    lines = {
        Kind.KEYED: f"one row per key ({', '.join(extent.key)})",
        Kind.BAG: "rows, repeated as often as they occur (no key is known)",
        Kind.AGGREGATE: f"one row of states per group ({', '.join(extent.key) or 'a single group'})",
    }
    text = lines[extent.kind]
    if extent.reserve is not None:
        text = f"the first {extent.reserve.needed} rows and {extent.reserve.spare} in reserve: {text}"
    if extent.group_reserve is not None:
        by, reserve = ", ".join(extent.group_reserve.groups), extent.group_reserve
        text = f"the first {reserve.needed} rows of each group ({by}) and {reserve.spare} in reserve: {text}"
    return text + (f"\nbookkeeping: {', '.join(hidden)}" if hidden else "")


def tree(node: Relation, depth: int = 0) -> str:
    """The algebra, one operator a line."""
    pad = "  " * depth
    match node:
        case Scan():
            return f"{pad}{node.table}({', '.join(c for c, _ in node.columns)})"
        case Filter():
            return f"{pad}σ {node.predicate}\n{tree(node.source, depth + 1)}"
        case Project():
            shown = ", ".join(n if e.column == n else f"{n} = {e}" for n, e in node.columns)
            return f"{pad}π {shown}\n{tree(node.source, depth + 1)}"
        case Join():
            on = f" {node.predicate}" if node.predicate is not None else ""
            return f"{pad}⋈{on}\n{tree(node.left, depth + 1)}\n{tree(node.right, depth + 1)}"
        case SemiJoin() | AntiJoin() | MarkJoin() | OuterJoin():
            return f"{pad}{sign(node)} {node.predicate}\n{tree(node.left, depth + 1)}\n{tree(node.right, depth + 1)}"
        case UnionAll():
            return f"{pad}⊎\n" + "\n".join(tree(i, depth + 1) for i in node.inputs)
        case Recall():
            return f"{pad}the round before({', '.join(c for c, _ in node.columns)})"
        case Recursion():
            return f"{pad}rounds of\n{tree(node.source, depth + 1)}\n{tree(node.step, depth + 1)}"
        case Values():
            return f"{pad}{len(node.rows)} constant rows({', '.join(node.columns)})"
        case Window():
            shown = ", ".join(f"{n} = {w}" for n, w in node.columns)
            return f"{pad}ω {shown}\n{tree(node.source, depth + 1)}"
        case Generate():
            outer = " outer" if node.outer else ""
            return f"{pad}μ{outer} {', '.join(node.columns)} = {node.generator}\n{tree(node.source, depth + 1)}"
        case Aggregate():
            keys = ", ".join(n if e.column == n else f"{n} = {e}" for n, e in node.keys)
            measures = ", ".join(f"{m.name} = {m}" for m in node.measures)
            return f"{pad}γ [{keys}] {measures}\n{tree(node.source, depth + 1)}"


def sign(node: SemiJoin | AntiJoin | MarkJoin | OuterJoin) -> str:
    match node:
        case SemiJoin():
            return "⋉"
        case AntiJoin():
            return "▷"
        case MarkJoin():
            return f"{node.mark} = ⋉?"
        case OuterJoin():
            return "⟗" if node.keeps_left and node.keeps_right else "⟕" if node.keeps_left else "⟖"


def cost(last: Any) -> str:
    if last is None:
        return "no refresh yet"
    predicted = f"{last.predicted_cost:.3f} s" if last.predicted_cost is not None else "—"
    return f"last: {last.strategy}, predicted {predicted}, actual {last.seconds:.3f} s, {last.jobs} jobs"


def reason(code: str) -> str:
    return f"{code}: {REASONS.get(code, 'see docs/limitations')}"


def indent(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())
