"""GROUP BY a map, whose entries have no order: Spark groups by it, but neither sorts nor matches rows by one.

γ_{m}(R) = π_{map_from_entries(k)}(γ_{k: array_sort(map_entries(m))}(R)): equal maps have the same sorted entries.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import Aggregate, Project, Relation
from rollview.algebra.scalar import Scalar, col
from rollview.algebra.walking import rebuilt, walk
from rollview.errors import NotYetSupported

if TYPE_CHECKING:
    from rollview.frontend.typing import Typer

MAP = "map<"


def by_entries(definition: Relation, typer: Typer) -> Relation:
    """The relation without maps among the keys of its groups."""
    taken = {name for n in walk(definition) for name in n.names}

    def said(node: Relation) -> Relation:
        node = rebuilt(node, said)
        if not isinstance(node, Aggregate) or not node.keys:
            return node
        types = {c.name: c.type for c in typer.relation(node)}
        maps = {name: fresh(name, taken) for name, _ in node.keys if MAP in types[name]}
        refuse_nested([types[name] for name in maps])
        if not maps:
            return node
        keys = tuple(
            (maps[n], call("array_sort", call("map_entries", e))) if n in maps else (n, e) for n, e in node.keys
        )
        shown = ((n, call("map_from_entries", col(maps[n])) if n in maps else col(n)) for n in node.names)
        return Project(replace(node, keys=keys), tuple(shown))

    return said(definition)


def refuse_nested(types: list[str]) -> None:
    for found in types:
        if not found.startswith(MAP) or MAP in found[len(MAP) :]:
            raise NotYetSupported(
                f"groups of a {found} are not maintained from changes",
                code="RV-MAP-KEY",
                hint="group by array_sort(map_entries(…)) of the map inside",
            )


def fresh(name: str, taken: set[str]) -> str:
    stem = found = f"{name}_entries"
    number = 1
    while found in taken:
        number += 1
        found = f"{stem}_{number}"
    taken.add(found)
    return found


def call(name: str, argument: Scalar) -> Scalar:
    return Scalar(exp.Anonymous(this=name, expressions=[argument.tree.copy()]))
