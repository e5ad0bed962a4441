"""A Typer without a JVM: Spark's result types for the few types and operators that the tests use.

Names are the user's aliases (unaliased expressions are called `c`, `c2` …, unlike in Spark).
"""

from __future__ import annotations

import re
from functools import cache
from itertools import count
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.call import Call
from rollview.algebra.relation import (
    Aggregate,
    AntiJoin,
    Filter,
    Function,
    Generate,
    Join,
    MarkJoin,
    Measure,
    OuterJoin,
    Project,
    Recall,
    Recursion,
    Relation,
    Scan,
    SemiJoin,
    UnionAll,
    Values,
    Window,
)
from rollview.algebra.schema import Column, Schema, Tables
from rollview.errors import BadInput
from rollview.frontend.lower import lower
from rollview.frontend.parse import parse_query
from rollview.names import COUNT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rollview.algebra.scalar import Scalar
    from rollview.frontend.scope import Lowered

WIDTHS = ("tinyint", "smallint", "int", "bigint")
DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
TRUTHS = (
    exp.Predicate,
    exp.Connector,
    exp.Not,
    exp.Boolean,
    exp.In,
    exp.Between,
    exp.Is,
    exp.NullSafeEQ,
)
STRINGS = frozenset(["upper", "lower", "concat", "trim", "replace"])
INTEGERS = frozenset(["year", "month", "day", "length"])
LIKE_THEIR_OPERAND = frozenset(["abs", "round", "floor", "ceil", "nullif"])
RANKS = {
    "row_number": "int",
    "rank": "int",
    "dense_rank": "int",
    "ntile": "int",
    "percent_rank": "double",
    "cume_dist": "double",
}
VALUE_FUNCTIONS = frozenset(["lag", "lead", "first_value", "last_value", "nth_value", "min", "max"])
BUILTINS = STRINGS | INTEGERS | LIKE_THEIR_OPERAND | {"array_repeat", "named_struct", "variant_get"}


class PureTyper:
    """`tables` are the relations that the queries read."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.lowered: dict[str, Lowered] = {}

    def written(self, sql: str) -> Lowered:
        """The query as the user wrote it: lowered, not normalised."""
        if sql not in self.lowered:
            self.lowered[sql] = lower(parse_query(sql), self.tables, self)[0]
        return self.lowered[sql]

    def query(self, sql: str) -> Schema:
        lowered = self.written(sql)
        types = self.types(lowered.relation)
        unnamed = (f"c{n}" if n > 1 else "c" for n in count(1))
        names = [c.name if c.given else next(unnamed) for c in lowered.columns]
        return tuple(Column(n, types[c.unique]) for n, c in zip(names, lowered.columns, strict=True))

    def relation(self, node: Relation) -> Schema:
        types = self.types(node)
        return tuple(Column(name, types[name]) for name in node.names)

    def is_builtin(self, function: str) -> bool:
        return function in BUILTINS

    def generated(self, node: Relation, generator: Scalar) -> tuple[str, ...]:
        """As Spark names them; arrays of scalars only."""
        match generator.tree.name.lower():
            case "explode":
                return ("col",)
            case "posexplode":
                return ("pos", "col")
            case "stack":
                height, *values = generator.tree.expressions
                return tuple(f"col{i}" for i in range(-(-len(values) // int(height.name))))
            case "*":
                (struct,) = self.types(node).values()
                if not struct.startswith("struct<"):
                    raise BadInput("no struct", code="RV-SQL")
                return tuple(field.split(":")[0] for field in struct.removeprefix("struct<")[:-1].split(","))
            case name:
                raise NotImplementedError(f"the tests' typer does not know {name}")

    def pivoted(self, columns: Sequence[tuple[str, str]], pivot: exp.Pivot) -> Schema:
        """As Spark names them; only columns that the clause reads are given, so all others are made by it."""
        types = dict(columns)
        (field,) = pivot.args["fields"]
        items = [(i.this, i.alias) if isinstance(i, exp.PivotAlias) else (i, "") for i in field.expressions]
        if pivot.args.get("unpivot"):
            groups = [tree.expressions or [tree] for tree, _ in items]
            return tuple(Column("value", widest(infer(t, types) for t in place)) for place in zip(*groups, strict=True))
        calls = [(c.unalias(), c.alias or spark_text(c)) for c in pivot.expressions]
        made = [(alias or spark_text(tree), *call) for tree, alias in items for call in calls]
        single = len(calls) == 1
        return tuple(Column(v if single else f"{v}_{n}", aggregate_type(call, types)) for v, call, n in made)

    def types(self, node: Relation) -> Mapping[str, str]:
        match node:
            case Scan():
                table = self.tables[node.table]
                found = {name: column_type(table.column(c)) for c, name in node.columns}
                return found | ({COUNT: "bigint"} if node.at.signed else {})
            case Filter():
                return self.types(node.source)
            case Project():
                below = self.types(node.source)
                return {name: type_of(e, below) for name, e in node.columns}
            case Join() | OuterJoin():
                return {**self.types(node.left), **self.types(node.right)}
            case MarkJoin():
                return {**self.types(node.left), node.mark: "boolean"}
            case SemiJoin() | AntiJoin():
                return self.types(node.left)
            case Values():
                rows = zip(*node.rows, strict=True)
                return {n: widest(type_of(v, {}) for v in vs) for n, vs in zip(node.columns, rows, strict=True)}
            case Recall():
                counted = {COUNT: "bigint"} if node.signed else {}
                return {name: t for (_, name), t in zip(node.columns, node.types, strict=True)} | counted
            case Recursion():
                return dict(zip(node.columns, self.types(node.source).values(), strict=True))
            case Window():
                below = self.types(node.source)
                return {**below, **{name: infer(w.tree.this, below) for name, w in node.columns}}
            case Generate():
                below = self.types(node.source)
                return {**below, **generated_types(node, below)}
            case UnionAll():
                sides = [[types[n] for n in i.names] for i in node.inputs for types in (self.types(i),)]
                return {n: widest(s[place] for s in sides) for place, n in enumerate(node.columns)}
            case Aggregate():
                below = self.types(node.source)
                keys = {name: type_of(e, below) for name, e in node.keys}
                return keys | {m.name: measure_type(m, below) for m in node.measures}


def generated_types(node: Generate, below: Mapping[str, str]) -> Mapping[str, str]:
    first, *others = node.generator.tree.expressions
    match node.generator.tree.name.lower():
        case "explode":
            types = [element_type(infer(first, below))]
        case "posexplode":
            types = ["int", element_type(infer(first, below))]
        case "stack":
            width = len(node.columns)
            types = [widest(infer(v, below) for v in others[i::width]) for i in range(width)]
        case "window":
            moment = infer(first, below)
            types = [f"struct<start:{moment},end:{moment}>"]
        case name:
            raise NotImplementedError(f"the tests' typer does not know {name}")
    return dict(zip(node.columns, types, strict=True))


def element_type(array: str) -> str:
    return array.removeprefix("array<").removesuffix(">")


def column_type(column: Column | None) -> str:
    assert column is not None
    return column.type


def measure_type(measure: Measure, types: Mapping[str, str]) -> str:
    if measure.function is Function.COUNT or measure.argument is None:
        return "bigint"
    if measure.function is Function.CALL:
        call = Call.of(measure.argument.tree)
        assert call is not None
        return call_type(call, types)
    argument = type_of(measure.argument, types)
    if measure.function in (Function.MIN, Function.MAX, Function.BIT_XOR):
        return argument
    decimal = decimal_of(argument)
    if measure.function is Function.AVG:
        return bounded(decimal[0] + 4, decimal[1] + 4) if decimal and argument not in WIDTHS else "double"
    if argument in WIDTHS:
        return "bigint"
    return bounded(decimal[0] + 10, decimal[1]) if decimal else "double"


COUNTS = ("count", "approx_count_distinct")
LIKE_THEIR_ARGUMENT = ("bit_and", "bit_or", "min_by", "max_by")


def call_type(call: Call, types: Mapping[str, str]) -> str:
    if call.name in COUNTS:
        return "bigint"
    if call.name in ("listagg", "string_agg"):
        return "string"
    first = infer((call.arguments or [o.this for o in call.order])[0], types)
    if call.name in ("collect_list", "collect_set", "array_agg"):
        return f"array<{first}>"
    if call.name == "sum":
        return "bigint" if first in WIDTHS else first
    return first if call.name in (*LIKE_THEIR_ARGUMENT, "mode") else "double"


def aggregate_type(tree: exp.Expr, types: Mapping[str, str]) -> str:
    call = Call.of(tree)
    if call is None:
        return widest(aggregate_type(e, types) for e in tree.iter_expressions())
    if call.name in ("min", "max"):
        return infer(call.arguments[0], types)
    return "bigint" if call.name == "count" else call_type(call, types)


def spark_text(tree: exp.Expr) -> str:
    """What Spark calls a value or an aggregate without alias."""
    match tree:
        case exp.Null():
            return "null"
        case exp.Tuple():
            return "{" + ", ".join(spark_text(e) for e in tree.expressions) + "}"
        case exp.Literal() | exp.Column():
            return tree.name
        case exp.Cast():
            return spark_text(tree.this)
        case exp.Count() if isinstance(tree.this, exp.Star):
            return "count(1)"
    call = Call.of(tree)
    return tree.sql("spark") if call is None else f"{call.name}({', '.join(map(spark_text, call.arguments))})"


def type_of(scalar: Scalar, types: Mapping[str, str]) -> str:
    return infer(scalar.tree, types)


def infer(tree: exp.Expr, types: Mapping[str, str]) -> str:
    match tree:
        case exp.Column():
            return types[tree.name]
        case exp.Literal():
            return literal_type(tree)
        case exp.Null():
            return "void"
        case exp.Cast():
            return spelled(tree.to)
        case exp.Paren() | exp.Neg() | exp.Round() | exp.Greatest():
            return infer(tree.this, types)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.Mod():
            return arithmetic(tree, infer(tree.this, types), infer(tree.expression, types))
        case exp.Coalesce():
            return widest(infer(e, types) for e in (tree.this, *tree.expressions))
        case exp.If():
            return widest(infer(e, types) for e in (tree.args["true"], tree.args.get("false")) if e)
        case exp.Case():
            branches = [i.args["true"] for i in tree.args["ifs"]] + [tree.args.get("default")]
            return widest(infer(e, types) for e in branches if e is not None)
        case exp.Extract():
            return "int"
        case exp.Sqrt():
            return "double"
        case exp.RawString() | exp.DPipe() | exp.Trim() | exp.Substring() | exp.Concat():
            return "string"
        case exp.Array():
            return f"array<{widest(infer(e, types) for e in tree.expressions)}>"
        case exp.Anonymous() if tree.name.lower() == "raise_error":
            return "void"
        case exp.Filter() | exp.IgnoreNulls() | exp.RespectNulls():
            return infer(tree.this, types)
        case exp.Count():
            return "bigint"
        case exp.Sum():
            return "bigint"
        case exp.Avg():
            return "double"
        case exp.Anonymous() if tree.name.lower() in RANKS:
            return RANKS[tree.name.lower()]
        case exp.Anonymous() if tree.name.lower() in VALUE_FUNCTIONS:
            return infer(tree.expressions[0], types)
        case exp.Anonymous() if tree.name.lower() in LIKE_THEIR_OPERAND:
            return infer(tree.expressions[0], types)
        case exp.Anonymous() if tree.name.lower() == "array_repeat":
            return f"array<{infer(tree.expressions[0], types)}>"
        case exp.Anonymous() if tree.name.lower() == "named_struct":
            named = zip(tree.expressions[::2], tree.expressions[1::2], strict=True)
            return "struct<" + ",".join(f"{n.name}:{infer(e, types)}" for n, e in named) + ">"
        case exp.Anonymous():
            return "string" if tree.name.lower() in STRINGS else "int"
        case exp.Dot():
            return field_type(infer(tree.this, types), tree.expression.name)
    if isinstance(tree, TRUTHS):
        return "boolean"
    raise NotImplementedError(f"the tests' typer does not know {type(tree).__name__}")


@cache
def spelled(type_: exp.DataType) -> str:
    return type_.sql("spark").lower().replace(" ", "")


def literal_type(tree: exp.Literal) -> str:
    if tree.is_string:
        return "string"
    text = str(tree.this)
    if tree.is_int:
        return "int" if int(text) < 2**31 else "bigint"
    whole, _, fraction = text.partition(".")
    return f"decimal({max(1, len(whole.lstrip('0')) + len(fraction))},{len(fraction)})"


def arithmetic(tree: exp.Expr, left: str, right: str) -> str:
    if left in WIDTHS and right in WIDTHS:
        return "double" if isinstance(tree, exp.Div) else widest([left, right])
    a, b = decimal_of(left), decimal_of(right)
    if a is None or b is None:
        return "double"
    whole = max(a[0] - a[1], b[0] - b[1])
    scale = max(a[1], b[1])
    if isinstance(tree, exp.Add | exp.Sub):
        return bounded(whole + scale + 1, scale)
    if isinstance(tree, exp.Mul):
        return bounded(a[0] + b[0] + 1, a[1] + b[1])
    scale = max(6, a[1] + b[0] + 1)
    return bounded(a[0] - a[1] + b[1] + scale, scale)


def decimal_of(type_: str) -> tuple[int, int] | None:
    """Precision and scale; integers are decimals without a fraction."""
    if type_ in DIGITS:
        return DIGITS[type_], 0
    match = re.fullmatch(r"decimal\((\d+),(\d+)\)", type_)
    return (int(match[1]), int(match[2])) if match else None


def bounded(precision: int, scale: int) -> str:
    if precision <= 38:
        return f"decimal({precision},{scale})"
    return f"decimal(38,{max(38 - (precision - scale), min(scale, 6))})"


def widest(types: Iterable[str]) -> str:
    found = [t for t in types if t != "void"]
    if not found:
        return "void"
    if all(t == found[0] for t in found):
        return found[0]
    if all(t in WIDTHS for t in found):
        return max(found, key=WIDTHS.index)
    decimals = [decimal_of(t) for t in found]
    if all(d is not None for d in decimals):
        scale = max(d[1] for d in decimals if d)
        return bounded(max(d[0] - d[1] for d in decimals if d) + scale, scale)
    return "double" if all(d is not None or t == "double" for d, t in zip(decimals, found, strict=True)) else "string"


def field_type(struct: str, name: str) -> str:
    """The type of one field of ``struct<a:int,b:string>``; nested structs are not needed here."""
    fields = dict(part.split(":", 1) for part in struct.removeprefix("struct<").removesuffix(">").split(","))
    for field, type_ in fields.items():
        if field.lower() == name.lower():
            return type_
    raise BadInput(f"no field {name}", code="RV-UNKNOWN-COLUMN")
