"""Scalar expressions: sqlglot trees behind an immutable wrapper.

A column reference is a quoted identifier without a table: column names are unique across a whole view
(see relation.py), so no qualifier is ever needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache, reduce
from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Scalar:
    """An expression over columns. The tree inside is never changed after birth."""

    tree: exp.Expr
    columns: frozenset[str] = field(init=False, repr=False, compare=False)
    """the columns it reads"""
    size: int = field(init=False, repr=False, compare=False)
    """how many nodes the tree has; a column is one"""
    equated: tuple[str, str] | None = field(init=False, repr=False, compare=False)
    """(a, b) if it is ``a = b`` between two columns"""
    text: str | None = field(default=None, init=False, repr=False, compare=False)
    """its SQL, once it was asked for"""

    def __post_init__(self) -> None:
        columns, size = names_and_size(self.tree)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "equated", equated(self.tree))

    @property
    def column(self) -> str | None:
        """The name, if the expression is nothing but a column."""
        return column_name(self.tree) if isinstance(self.tree, exp.Column) else None

    @property
    def is_constant(self) -> bool:
        """A literal, perhaps negated or cast: the same value in every row, and not NULL."""
        bare = self.tree
        while isinstance(bare, exp.Paren | exp.Cast | exp.Neg) and not bare.args.get("safe"):
            bare = bare.this
        return isinstance(bare, exp.Literal)

    @property
    def is_integer(self) -> bool:
        """Nothing but an integer literal, which GROUP BY and ORDER BY take for a position."""
        bare = self.tree.unnest()
        while isinstance(bare, exp.Neg):
            bare = bare.this.unnest()
        return isinstance(bare, exp.Literal) and bool(bare.is_int)

    def substitute(self, mapping: Mapping[str, Scalar]) -> Scalar:
        """The expression with columns replaced by expressions."""
        if not self.columns & mapping.keys():
            return self
        if self.column is not None and is_operand(mapping[self.column].tree):
            return mapping[self.column]
        return Scalar(replaced(self.tree, mapping))

    def __str__(self) -> str:
        if self.text is None:
            object.__setattr__(self, "text", self.tree.sql("spark"))
        return self.text or ""


def replaced(tree: exp.Expr, mapping: Mapping[str, Scalar]) -> exp.Expr:
    """The tree with its columns replaced; parts without any are shared with the old one."""
    if isinstance(tree, exp.Column):
        found = mapping.get(column_name(tree))
        return tree if found is None else operand(found.tree)
    changed: dict[str, object] = {}
    for name, value in tree.args.items():
        if isinstance(value, exp.Expr):
            new = replaced(value, mapping)
            if new is not value:
                changed[name] = new
        elif isinstance(value, list):
            parts = [replaced(v, mapping) if isinstance(v, exp.Expr) else v for v in value]
            if any(a is not b for a, b in zip(parts, value, strict=True)):
                changed[name] = parts
    if not changed:
        return tree
    made = tree.__class__(**{**tree.args, **changed})
    if tree.meta_get("line") is not None:
        made.meta.update(tree.meta)
    return made


def column_name(tree: exp.Column) -> str:
    """What `tree.name` finds after some questions."""
    this = tree.args["this"]
    name: str = this.args["this"] if isinstance(this, exp.Identifier) else tree.name
    return name


def names_and_size(tree: exp.Expr) -> tuple[frozenset[str], int]:
    if isinstance(tree, exp.Column):
        return frozenset((column_name(tree),)), 1
    names, size, waiting = set(), 0, [tree]
    while waiting:
        node = waiting.pop()
        size += 1
        if isinstance(node, exp.Column):
            names.add(column_name(node))
            continue
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                waiting.append(value)
            elif isinstance(value, list):
                waiting += [v for v in value if isinstance(v, exp.Expr)]
    return frozenset(names), size


FOLDED = 300
"""An expression of more nodes than this is computed once and read by name, not repeated wherever it is used."""

ATOMS = (exp.Column, exp.Literal, exp.Paren, exp.Null, exp.Boolean, exp.Func, exp.Cast)


def operand(tree: exp.Expr) -> exp.Expr:
    """The tree so that it keeps its meaning inside any other expression; trees may share their parts."""
    return tree if is_operand(tree) else exp.Paren(this=tree)


def is_operand(tree: exp.Expr) -> bool:
    # sqlglot calls AND, OR and a few other operators functions too
    return isinstance(tree, ATOMS) and not isinstance(tree, exp.Binary)


@lru_cache(maxsize=4096)
def col(name: str) -> Scalar:
    return Scalar(exp.Column(this=exp.Identifier(this=name, quoted=True)))


def literal(value: object) -> Scalar:
    return Scalar(exp.convert(value))


def equal(left: Scalar, right: Scalar) -> Scalar:
    """Null-safe equality: NULL matches NULL."""
    return Scalar(exp.NullSafeEQ(this=operand(left.tree), expression=operand(right.tree)))


def conjunction(parts: Iterable[Scalar]) -> Scalar | None:
    """p AND q AND …; AND binds more loosely than any operator but OR."""
    trees = [p.tree for p in parts]
    if len(trees) > 1:
        trees = [exp.Paren(this=t) if isinstance(t, exp.Or | exp.Xor) else t for t in trees]
    return Scalar(reduce(lambda a, b: exp.And(this=a, expression=b), trees)) if trees else None


def conjuncts(predicate: Scalar | None) -> tuple[Scalar, ...]:
    """The top-level AND parts of a predicate."""
    if predicate is None:
        return ()
    parts, waiting = [], [predicate.tree]
    while waiting:
        tree = waiting.pop()
        while isinstance(tree, exp.Paren):
            tree = tree.this
        if isinstance(tree, exp.And):
            waiting += [tree.expression, tree.this]
        else:
            parts.append(Scalar(tree))
    return tuple(parts)


def equated(tree: exp.Expr) -> tuple[str, str] | None:
    if isinstance(tree, exp.EQ) and isinstance(tree.this, exp.Column) and isinstance(tree.expression, exp.Column):
        return column_name(tree.this), column_name(tree.expression)
    return None
