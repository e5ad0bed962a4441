"""Relation nodes: small, immutable, checked at birth.

Names: every column that a node creates (a scan's, a projection's new column, a group key, a measure) has a
name that is unique across the view, so a join simply concatenates and no expression needs a qualifier.

States: every scan names the state it reads. A view's definition reads AFTER throughout; inside a maintenance
query a scan reads BEFORE or AFTER the span, or (a part of) the DELTA, in which case it also has the column
`__count` of +1 or -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

from rollview.algebra.scalar import Scalar, col
from rollview.names import COUNT

if TYPE_CHECKING:
    from collections.abc import Callable


class State(Enum):
    """Which state of a base table a scan reads."""

    BEFORE = "before"
    AFTER = "after"
    DELTA = "delta"
    """every change of the span, net"""
    UPDATES = "updates"
    """the part of DELTA whose keys are in both states"""
    REMOVED = "removed"
    """the rows (as plain rows) whose keys are only in BEFORE"""

    @property
    def signed(self) -> bool:
        return self in (State.DELTA, State.UPDATES)


class Function(Enum):
    """The aggregate functions that the algebra knows; a CALL is any other one, as Spark evaluates it."""

    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    BIT_XOR = "bit_xor"
    CALL = "call"


class Node:
    """What is computed of an immutable node once, when it is first asked for."""

    __slots__ = ("_hash", "_names")


T = TypeVar("T", bound=Node)


@dataclass_transform(frozen_default=True)
def node(kind: type[T]) -> type[T]:
    """A frozen dataclass that remembers its hash and its names: trees are compared again and again."""
    made = dataclass(frozen=True, slots=True)(kind)
    made.names = property(once("_names", made.names.fget))  # type: ignore[attr-defined]
    made.__hash__ = once("_hash", made.__hash__)  # type: ignore[method-assign, assignment]
    return made


def once(slot: str, compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def remembered(self: Node) -> Any:
        try:
            return getattr(self, slot)
        except AttributeError:
            object.__setattr__(self, slot, compute(self))
            return getattr(self, slot)

    return remembered


@node
class Scan(Node):
    """The rows of a base table in one state; `columns` pairs each table column with its unique name."""

    table: str
    columns: tuple[tuple[str, str], ...]
    at: State = State.AFTER

    @property
    def names(self) -> tuple[str, ...]:
        own = tuple(name for _, name in self.columns)
        return (*own, COUNT) if self.at.signed else own


@node
class Filter(Node):
    """σ_p(R): the rows of `source` for which `predicate` is true."""

    source: Relation
    predicate: Scalar

    def __post_init__(self) -> None:
        require(self.predicate.columns, self.source.names)

    @property
    def names(self) -> tuple[str, ...]:
        return self.source.names


@node
class Project(Node):
    """π_{name = expression, …}(R), a bag: duplicates stay."""

    source: Relation
    columns: tuple[tuple[str, Scalar], ...]

    def __post_init__(self) -> None:
        distinct(self.names)
        for _, expression in self.columns:
            require(expression.columns, self.source.names)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)


@node
class Join(Node):
    """R ⋈_p S, inner; no predicate is the cross product. `lookup`: R is as small as a delta, S is looked up from it."""

    left: Relation
    right: Relation
    predicate: Scalar | None = None
    lookup: bool = False

    def __post_init__(self) -> None:
        distinct(self.names)
        if self.predicate is not None:
            require(self.predicate.columns, self.names)

    @property
    def names(self) -> tuple[str, ...]:
        return self.left.names + self.right.names


@node
class SemiJoin(Node):
    """R ⋉_p S: the rows of R that have at least one partner in S."""

    left: Relation
    right: Relation
    predicate: Scalar

    def __post_init__(self) -> None:
        distinct(self.left.names + self.right.names)
        require(self.predicate.columns, self.left.names + self.right.names)

    @property
    def names(self) -> tuple[str, ...]:
        return self.left.names


@node
class AntiJoin(Node):
    """R ▷_p S: the rows of R that have no partner in S. A predicate that is NULL makes no partner."""

    left: Relation
    right: Relation
    predicate: Scalar

    def __post_init__(self) -> None:
        distinct(self.left.names + self.right.names)
        require(self.predicate.columns, self.left.names + self.right.names)

    @property
    def names(self) -> tuple[str, ...]:
        return self.left.names


@node
class MarkJoin(Node):
    """R with one more column: whether the row has at least one partner in S. It is never NULL."""

    left: Relation
    right: Relation
    predicate: Scalar
    mark: str

    def __post_init__(self) -> None:
        distinct((*self.left.names, self.mark, *self.right.names))
        require(self.predicate.columns, self.left.names + self.right.names)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.left.names, self.mark)


@node
class OuterJoin(Node):
    """R ⋈_p S and the rows without a partner, padded with NULLs: those of R (`keeps_left`), of S (`keeps_right`)."""

    left: Relation
    right: Relation
    predicate: Scalar
    keeps_left: bool = True
    keeps_right: bool = False

    def __post_init__(self) -> None:
        distinct(self.names)
        require(self.predicate.columns, self.names)
        if not self.keeps_left and not self.keeps_right:
            raise ValueError("an outer join keeps at least one side")

    @property
    def names(self) -> tuple[str, ...]:
        return self.left.names + self.right.names


@node
class UnionAll(Node):
    """R ⊎ S ⊎ …: columns by position, named as in the first input. No input at all is the empty relation."""

    inputs: tuple[Relation, ...]
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        for source in self.inputs:
            if len(source.names) != len(self.columns):
                raise ValueError("the inputs of a union differ in their number of columns")

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns


@node
class Values(Node):
    """Constant rows; their scalars read no columns. One row of one column stands for a missing FROM."""

    rows: tuple[tuple[Scalar, ...], ...]
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        distinct(self.columns)
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError("the rows of VALUES differ in their number of columns")
            for value in row:
                require(value.columns, ())

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns


@node
class Generate(Node):
    """Each row of R beside each row that `generator`, a call such as explode(xs), makes of it.

    `outer`: a row of which nothing is made stays, beside NULLs.
    """

    source: Relation
    generator: Scalar
    columns: tuple[str, ...]
    outer: bool = False

    def __post_init__(self) -> None:
        distinct(self.names)
        require(self.generator.columns, self.source.names)

    @property
    def names(self) -> tuple[str, ...]:
        return self.source.names + self.columns


@node
class Window(Node):
    """Each row of R beside window functions (``f(…) OVER (…)``) of R, all with one PARTITION BY."""

    source: Relation
    columns: tuple[tuple[str, Scalar], ...]

    def __post_init__(self) -> None:
        distinct(self.names)
        for _, window in self.columns:
            require(window.columns, self.source.names)
        if len({frozenset(str(k) for k in partition_of(w)) for _, w in self.columns}) != 1:
            raise ValueError("the functions of one window differ in their PARTITION BY")

    @property
    def names(self) -> tuple[str, ...]:
        return self.source.names + tuple(name for name, _ in self.columns)

    @property
    def partition(self) -> tuple[Scalar, ...]:
        """Rows that agree in these are seen by each other; none: all rows."""
        return partition_of(self.columns[0][1])


def partition_of(window: Scalar) -> tuple[Scalar, ...]:
    return tuple(Scalar(k) for k in window.tree.args.get("partition_by") or ())


@dataclass(frozen=True, slots=True)
class Measure:
    """An aggregate: name = function(argument); COUNT without an argument counts rows.

    The argument of a CALL is the whole call: its name, arguments, DISTINCT, ORDER BY and FILTER.
    """

    name: str
    function: Function
    argument: Scalar | None = None

    def __post_init__(self) -> None:
        if self.argument is None and self.function is not Function.COUNT:
            raise ValueError(f"{self.function.value} needs an argument")

    def __str__(self) -> str:
        return (
            str(self.argument) if self.function is Function.CALL else f"{self.function.value}({self.argument or '*'})"
        )


@node
class Aggregate(Node):
    """γ_{keys; measures}(R). With no keys at all it is global: always exactly one row (`grouped` False).

    `exact`: its measures are counts, sums and parities of exact numbers, so that a change can be taken back.
    """

    source: Relation
    keys: tuple[tuple[str, Scalar], ...]
    measures: tuple[Measure, ...]
    grouped: bool = True
    exact: bool = False

    def __post_init__(self) -> None:
        distinct(self.names)
        for _, expression in self.keys:
            require(expression.columns, self.source.names)
        for measure in self.measures:
            if measure.argument is not None:
                require(measure.argument.columns, self.source.names)
        if self.keys and not self.grouped:
            raise ValueError("a global aggregate has no keys")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.keys) + tuple(m.name for m in self.measures)


@node
class Recall(Node):
    """Inside the step of the recursion `of`: the rows of the round before.

    `columns` pairs each of its columns with the unique name that it has here; `types` are what the anchor gives them.
    `signed`: they are changes, with `__count`.
    """

    of: str
    columns: tuple[tuple[str, str], ...]
    types: tuple[str, ...]
    signed: bool = False

    def __post_init__(self) -> None:
        distinct(self.names)
        if len(self.types) != len(self.columns):
            raise ValueError("each column that is recalled has a type")

    @property
    def names(self) -> tuple[str, ...]:
        own = tuple(name for _, name in self.columns)
        return (*own, COUNT) if self.signed else own


@node
class Recursion(Node):
    """R₀ ⊎ R₁ ⊎ … with R₀ = `source`, the anchor, and Rₙ₊₁ = `step` over Rₙ, up to the first round without rows.

    The step recalls Rₙ by the name `of`; columns are matched by position. More rounds than `limit` are an error.
    """

    source: Relation
    step: Relation
    of: str
    columns: tuple[str, ...]
    limit: int | None = None

    def __post_init__(self) -> None:
        distinct(self.columns)
        if not len(self.source.names) == len(self.step.names) == len(self.columns):
            raise ValueError("the anchor and the step of a recursion differ in their number of columns")

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns


Relation = (
    Scan
    | Filter
    | Project
    | Join
    | SemiJoin
    | AntiJoin
    | MarkJoin
    | OuterJoin
    | UnionAll
    | Aggregate
    | Values
    | Generate
    | Window
    | Recall
    | Recursion
)


def empty(columns: tuple[str, ...]) -> UnionAll:
    return UnionAll((), columns)


def union(parts: tuple[Relation, ...], columns: tuple[str, ...]) -> Relation:
    """⊎ without the trivial cases: empty inputs vanish, a single input stays itself."""
    kept = tuple(p for p in parts if not is_empty(p))
    if len(kept) == 1 and kept[0].names == columns:
        return kept[0]
    return UnionAll(kept, columns)


def is_empty(node: Relation) -> bool:
    """True if the relation has no rows whatever the tables hold."""
    match node:
        case Scan() | Values() | Recall():
            return False
        case Filter() | Project() | Generate() | Window() | Recursion():
            return is_empty(node.source)
        case Join() | SemiJoin():
            return is_empty(node.left) or is_empty(node.right)
        case AntiJoin() | MarkJoin():
            return is_empty(node.left)
        case OuterJoin():
            kept = [side for side, keeps in ((node.left, node.keeps_left), (node.right, node.keeps_right)) if keeps]
            return all(is_empty(side) for side in kept)
        case UnionAll():
            return all(is_empty(p) for p in node.inputs)
        case Aggregate():
            return node.grouped and is_empty(node.source)


def keep(source: Relation, names: tuple[str, ...]) -> Project:
    """π onto some columns, unchanged."""
    return Project(source, tuple((n, col(n)) for n in names))


def require(used: frozenset[str], available: tuple[str, ...]) -> None:
    missing = used - set(available)
    if missing:
        raise ValueError(f"unknown column {sorted(missing)} among {available}")


def distinct(names: tuple[str, ...]) -> None:
    if len(set(names)) != len(names):
        raise ValueError(f"a column name occurs twice in {names}")
