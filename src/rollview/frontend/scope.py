"""Names in scope: what a FROM clause offers, and how references resolve (ignoring case, as Spark does)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.scalar import Scalar, col
from rollview.errors import BadInput
from rollview.frontend.refuse import bad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rollview.algebra.relation import Relation


class Allocator:
    """Hands out column names that are unique across the view."""

    def __init__(self) -> None:
        self.used: dict[str, int] = {}
        """the names that are taken, and where to go on counting from each"""

    def name(self, wanted: str) -> str:
        stem = wanted.lstrip("_") or "c"
        candidate, n = stem, self.used.get(stem.lower(), 0)
        while candidate.lower() in self.used:
            n += 1
            candidate = f"{stem}_{n}"
        self.used[candidate.lower()] = 1
        self.used[stem.lower()] = max(n, 1)
        return candidate


@dataclass(frozen=True, slots=True)
class Visible:
    """A column as the user may name it, and its unique name."""

    name: str
    unique: str
    given: bool = True
    """False if the name is Spark's to choose: an expression without an alias"""


@dataclass(frozen=True, slots=True)
class Named:
    """One FROM item: its alias and its visible columns in order."""

    alias: str
    columns: tuple[Visible, ...]


@dataclass(frozen=True, slots=True)
class Lowered:
    """A query as a relation, and the names its columns have for whoever selects from it."""

    relation: Relation
    columns: tuple[Visible, ...]
    keys: tuple[str, ...] = ()
    """what is known of the query around a dependent one (dependent.py): columns that nobody can name"""

    @property
    def whole(self) -> tuple[Visible, ...]:
        """All columns; the keys are the last."""
        return (*self.columns, *(Visible(k, k) for k in self.keys))

    def over(self, relation: Relation, whole: tuple[Visible, ...]) -> Lowered:
        """Another relation whose columns stand for these."""
        shown = len(self.columns)
        return Lowered(relation, whole[:shown], tuple(v.unique for v in whole[shown:]))


@dataclass(slots=True)
class Scope:
    """The FROM items of one SELECT, joined to one relation."""

    relation: Relation
    items: list[Named]
    hidden: set[str] = field(default_factory=set)
    """unique names that USING merged into another column"""
    shown: list[Visible] = field(default_factory=list)
    """the columns of *, in order"""
    aliases: dict[str, Scalar] = field(default_factory=dict)
    """earlier columns of the same SELECT list, which Spark lets later ones use"""
    outer: Callable[[exp.Column], Scalar] | None = None
    """the query around a subquery, which sees what is not found here"""
    keys: tuple[str, ...] = ()
    """as in `Lowered`"""
    known: Callable[[], tuple[Relation, tuple[str, ...]]] | None = None
    """makes the relation of all values that the keys may have, and its columns"""

    @classmethod
    def of(cls, relation: Relation, item: Named, keys: tuple[str, ...] = ()) -> Scope:
        return cls(relation, [item], shown=list(item.columns), keys=keys)

    def beside(self, right: Scope) -> Scope:
        """What a condition on both sees; this scope stays as it is."""
        both = replace(self, items=list(self.items), hidden=set(self.hidden), shown=list(self.shown))
        both.join(right)
        return both

    def join(self, right: Scope) -> None:
        """The columns of both sides; the relation is left to the caller."""
        self.items = self.items + right.items
        self.hidden = self.hidden | right.hidden
        self.shown = self.shown + right.shown

    def merge(self, left: str, right: str) -> None:
        """USING made two columns one: it is shown once, and first; also in ``table.*``."""
        self.hidden.add(right)
        self.shown = first(left, [c for c in self.shown if c.unique != right])
        self.items = [Named(i.alias, tuple(first(left, first(right, i.columns)))) for i in self.items]

    def exchange(self, old: str, new: Visible) -> None:
        """Another column takes the place of one, which can still be named with its table."""
        self.hidden.add(old)
        self.shown = [new if c.unique == old else c for c in self.shown]
        self.items = [*self.items, Named("", (new,))]

    def table(self, parts: Sequence[str]) -> Named | None:
        """The FROM item that a qualifier names, with the warehouse's namespace before it or without."""
        *namespace, name = (p.lower() for p in parts)
        if namespace not in ([], ["default"], ["rollview", "default"]):
            return None
        return next((i for i in self.items if i.alias.lower() == name), None)

    def star(self, node: exp.Expr, qualifier: Sequence[str] = ()) -> list[Visible]:
        if not qualifier:
            return self.shown
        found = self.table(qualifier)
        if found is None:
            offered = ", ".join(i.alias for i in self.items if i.alias)
            raise bad(
                f"there is no table {'.'.join(qualifier)!r} in this FROM clause",
                "RV-UNKNOWN-TABLE",
                node,
                f"tables in scope: {offered}",
            )
        return list(found.columns)

    def resolve(self, node: exp.Column) -> Scalar:
        mark = marked(node)
        if mark is not None:
            return mark
        parts = [p.name for p in node.parts]
        if len(parts) > 1:
            return self.qualified(node, parts)
        found = self.lookup(parts[0], self.items)
        if len(found) > 1:
            raise bad(
                f"the column name {parts[0]!r} is ambiguous",
                "RV-AMBIGUOUS",
                node,
                "qualify it with a table alias",
            )
        if found:
            return col(found[0])
        if parts[0].lower() in self.aliases:
            return self.aliases[parts[0].lower()]
        return self.around(node, parts[0])

    def qualified(self, node: exp.Column, parts: list[str]) -> Scalar:
        for depth in range(len(parts) - 1, 0, -1):
            items = [i for i in self.items if i.alias.lower() == parts[depth - 1].lower()]
            found = self.lookup(parts[depth], items, merged=True)
            if found:
                return fields(col(found[0]), parts[depth + 1 :])
        found = self.lookup(parts[0], self.items)
        if len(found) == 1:
            return fields(col(found[0]), parts[1:])
        return self.around(node, ".".join(parts))

    def around(self, node: exp.Column, name: str) -> Scalar:
        """What is not known here may be a column of the query around this one."""
        if self.outer is not None:
            with suppress(BadInput):
                return self.outer(node)
        raise self.unknown(node, name)

    def lookup(self, name: str, items: Iterable[Named], *, merged: bool = False) -> list[str]:
        wanted = name.lower()
        found = [c.unique for i in items for c in i.columns if c.name.lower() == wanted]
        return [unique for unique in found if merged or unique not in self.hidden]

    def unknown(self, node: exp.Expr, name: str) -> Exception:
        offered = ", ".join(sorted({c.name for i in self.items for c in i.columns})[:12])
        return bad(f"there is no column {name!r}", "RV-UNKNOWN-COLUMN", node, f"columns in scope: {offered}")


def first(unique: str, columns: Iterable[Visible]) -> list[Visible]:
    """The columns with one of them, if it is there, before the others."""
    return sorted(columns, key=lambda c: c.unique != unique)


MARK = "rollview_column"


def mark_column(unique: str) -> exp.Column:
    """A column that needs no resolving, to stand for a subquery."""
    column = exp.Column(this=exp.to_identifier(unique, quoted=True))
    column.meta[MARK] = unique
    return column


def marked(node: exp.Expr) -> Scalar | None:
    unique = node.meta_get(MARK)
    return None if unique is None else col(unique)


def listed(columns: tuple[Visible, ...], names: list[str], node: exp.Expr) -> tuple[Visible, ...]:
    """The columns under the names of an alias's column list, if it has one."""
    if names and len(names) != len(columns):
        raise bad(
            f"{len(names)} names for {len(columns)} columns", "RV-ALIAS-COLUMNS", node, "name all columns, or none"
        )
    return tuple(Visible(n, c.unique) for n, c in zip(names, columns, strict=True)) if names else columns


def is_named(item: exp.Expr) -> bool:
    """Does an item of a SELECT list say what its column is called?"""
    return isinstance(item.unnest(), exp.Alias | exp.Column) and marked(item.unnest()) is None


def name_of(item: exp.Expr) -> str:
    """The name of an item's column: a column keeps its own when it is cast; `c` stands for what Spark chooses else."""
    tree = item.unnest()
    if is_named(item):
        return tree.alias_or_name
    cast = tree.this if isinstance(tree, exp.Cast) else None
    return cast.name if isinstance(cast, exp.Column) and len(cast.parts) == 1 and marked(cast) is None else "c"


def fields(scalar: Scalar, path: list[str]) -> Scalar:
    """Access to the fields of a struct."""
    tree = scalar.tree
    for name in path:
        tree = exp.Dot(this=tree, expression=exp.to_identifier(name, quoted=True))
    return Scalar(tree)
