"""Relations: the managed tables, attached tables and views of the warehouse, and what reads what.

They seldom change and are asked for all the time, so what was read is remembered. Every transaction that changes them
counts a number up, and who remembers looks at that number first.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sqlalchemy import Connection, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from rollview.catalog.schema import dependency as dependency_table
from rollview.catalog.schema import generation as generation_table
from rollview.catalog.schema import relation as relation_table
from rollview.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from rollview.catalog.database import Database

Kind = Literal["table", "attached", "view"]
State = Literal["creating", "ready", "dropping"]


class ColumnInfo(NamedTuple):
    """A column of a relation; `type` is Spark's own spelling."""

    name: str
    type: str
    nullable: bool


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view of the warehouse. Its name keeps the user's case and is unique whatever the case."""

    id: int
    name: str
    kind: Kind
    columns: tuple[ColumnInfo, ...]
    key: tuple[str, ...] | None
    definition: Mapping[str, Any] = field(hash=False)
    created_tick: int
    state: State


@dataclass(frozen=True, slots=True)
class Known:
    """All relations as they were when so many changes had been made, each after everything that it reads."""

    number: int
    relations: Mapping[str, Relation]
    """by folded name"""
    reads: Mapping[int, frozenset[int]]
    """by the reader's id"""


def fold(name: str) -> str:
    """What two names that mean the same relation have in common."""
    return name.lower()


class Relations:
    """The relations and the dependencies between them.

    A relation is created in the state `creating` and becomes `ready` when its storage exists; it is
    `dropping` while its storage goes. So whatever a dead process left half done is found by its state.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._remembered: Known | None = None

    def create(
        self,
        name: str,
        kind: Kind,
        columns: Sequence[ColumnInfo | tuple[str, str, bool]],
        *,
        key: Sequence[str] | None = None,
        definition: Mapping[str, Any] | None = None,
        created_tick: int,
        reads: Iterable[str] = (),
    ) -> Relation:
        """A new relation in the state `creating`, with its dependencies."""
        row = {
            "name": name,
            "folded": fold(name),
            "kind": kind,
            "columns": [list(column) for column in columns],
            "key": None if key is None else list(key),
            "definition": dict(definition or {}),
            "created_tick": created_tick,
            "state": "creating",
        }
        try:
            with changing(self._database) as connection:
                result = connection.execute(insert(relation_table).values(row).returning(relation_table))
                created = relation_of(result.one())
                _add_dependencies(connection, created, reads)
                return created
        except IntegrityError:
            raise BadInput(
                f"the warehouse already has a relation named {name}",
                code="RV-RELATION-EXISTS",
                hint="Choose another name, or drop that relation first. Case does not tell names apart.",
            ) from None

    def find(self, name: str) -> Relation | None:
        return self._known().relations.get(fold(name))

    def get(self, name: str) -> Relation:
        return self._named(self._known(), name)

    def list(self, *, kind: Kind | None = None, state: State | None = None) -> tuple[Relation, ...]:
        """All relations, each after everything that it reads."""
        found = self._known().relations.values()
        return tuple(r for r in found if kind in (None, r.kind) and state in (None, r.state))

    def update_definition(self, name: str, definition: Mapping[str, Any]) -> Relation:
        """Replace the definition as a whole."""
        return self._update(name, definition=dict(definition))

    def set_columns(self, name: str, columns: Sequence[ColumnInfo], definition: Mapping[str, Any]) -> Relation:
        """An attached table has other columns now."""
        return self._update(name, columns=[list(column) for column in columns], definition=dict(definition))

    def alter(
        self,
        name: str,
        columns: Sequence[ColumnInfo],
        definition: Mapping[str, Any],
        renamed: Mapping[str, str],
        views: Mapping[str, Mapping[str, Any]],
    ) -> Relation:
        """A table has other columns now; keys and what refers to them go by the new names, views by their own word."""
        with changing(self._database) as connection:
            table = relations_by_name(connection, [name], lock=True)[fold(name)]
            key = None if table.key is None else [renamed.get(c, c) for c in table.key]
            own = [{**f, "columns": [renamed.get(c, c) for c in f["columns"]]} for f in definition["foreign_keys"]]
            known = {name: {**definition, "foreign_keys": own}, **views}
            for row in connection.execute(select(relation_table).order_by(relation_table.c.id).with_for_update()).all():
                now = referring(known.get(row.name, row.definition), name, renamed)
                values = (
                    {"definition": now, "columns": columns, "key": key} if row.id == table.id else {"definition": now}
                )
                if values != {"definition": row.definition}:
                    connection.execute(update(relation_table).where(relation_table.c.id == row.id).values(values))
            return relations_by_name(connection, [name])[fold(name)]

    def set_state(self, name: str, state: State) -> Relation:
        """Refuses to start dropping what a view still reads."""
        return self._update(name, state=state)

    def delete(self, name: str) -> None:
        """Forget the relation, its dependencies, marks and changes. Ticks and refresh history stay."""
        with changing(self._database) as connection:
            relation = relations_by_name(connection, [name], lock=True)[fold(name)]
            _refuse_if_read(connection, relation)
            connection.execute(delete(relation_table).where(relation_table.c.id == relation.id))

    def add_dependencies(self, view: str, reads: Iterable[str]) -> None:
        with changing(self._database) as connection:
            _add_dependencies(connection, relations_by_name(connection, [view])[fold(view)], reads)

    def dependencies_of(self, view: str) -> tuple[Relation, ...]:
        """What the view reads directly, in the order of creation."""
        known = self._known()
        read = known.reads[self._named(known, view).id]
        return tuple(sorted((r for r in known.relations.values() if r.id in read), key=lambda r: r.id))

    def dependents_of(self, name: str, *, transitive: bool = False) -> tuple[Relation, ...]:
        """The views that read the relation, in the order of creation; with `transitive`, also their readers, in
        dependency order."""
        known = self._known()
        reached = {self._named(known, name).id}
        found = []
        for each in known.relations.values():
            if known.reads[each.id] & reached:
                found.append(each)
                reached |= {each.id} if transitive else set()
        return tuple(found if transitive else sorted(found, key=lambda r: r.id))

    def _known(self) -> Known:
        with self._database.read() as connection:
            number = connection.execute(select(generation_table.c.number)).scalar_one()
            known = self._remembered
            if known is None or known.number != number:
                known = self._remembered = _read(connection, number)
        return known

    @staticmethod
    def _named(known: Known, name: str) -> Relation:
        refuse_unknown([name], known.relations)
        return known.relations[fold(name)]

    def _update(self, name: str, **values: Any) -> Relation:
        with changing(self._database) as connection:
            relation = relations_by_name(connection, [name], lock=True)[fold(name)]
            if values.get("state") == "dropping":
                _refuse_if_read(connection, relation)
            change = update(relation_table).where(relation_table.c.id == relation.id).values(values)
            return relation_of(connection.execute(change.returning(relation_table)).one())


@contextmanager
def changing(database: Database) -> Iterator[Connection]:
    """A transaction that changes relations, one at a time: whoever remembers them will look again."""
    with database.write() as connection:
        connection.execute(update(generation_table).values(number=generation_table.c.number + 1))
        yield connection


def relation_ids(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """The id of each named relation, by the name as given."""
    wanted = list(names)
    folded = relation_table.c.folded
    query = select(folded, relation_table.c.id).where(folded.in_([fold(name) for name in wanted]))
    found: dict[str, int] = {row.folded: row.id for row in connection.execute(query)}
    refuse_unknown(wanted, found)
    return {name: found[fold(name)] for name in wanted}


def relation_of(row: Row[Any]) -> Relation:
    return Relation(
        id=row.id,
        name=row.name,
        kind=row.kind,
        columns=tuple(ColumnInfo(*column) for column in row.columns),
        key=None if row.key is None else tuple(row.key),
        definition=row.definition,
        created_tick=row.created_tick,
        state=row.state,
    )


def relations_by_name(connection: Connection, names: Sequence[str], *, lock: bool = False) -> dict[str, Relation]:
    """The named relations by their folded names; all of them, or an error that says which one is missing."""
    folded = relation_table.c.folded
    query = select(relation_table).where(folded.in_([fold(name) for name in names])).order_by(relation_table.c.id)
    rows = connection.execute(query.with_for_update() if lock else query).all()
    found: dict[str, Relation] = {row.folded: relation_of(row) for row in rows}
    refuse_unknown(names, found)
    return found


def referring(definition: Mapping[str, Any], table: str, renamed: Mapping[str, str]) -> dict[str, Any]:
    """The definition with foreign keys that refer to a table's columns by their new names."""
    if not renamed or "foreign_keys" not in definition:
        return dict(definition)
    keys = [
        {**f, "referenced": [renamed.get(c, c) for c in f["referenced"]]} if f["table"] == fold(table) else f
        for f in definition["foreign_keys"]
    ]
    return {**definition, "foreign_keys": keys}


def refuse_unknown(names: Iterable[str], found: Collection[str]) -> None:
    for name in names:
        if fold(name) not in found:
            raise BadInput(
                f"the warehouse has no relation named {name}",
                code="RV-RELATION-UNKNOWN",
                hint="status lists the tables and views of the warehouse.",
            )


def _read(connection: Connection, number: int) -> Known:
    rows = connection.execute(select(relation_table).order_by(relation_table.c.id)).all()
    edges = connection.execute(select(dependency_table)).all()
    relations = {row.id: relation_of(row) for row in rows}
    reads: dict[int, set[int]] = defaultdict(set)
    for view_id, reads_id in edges:
        reads[view_id].add(reads_id)
    order = TopologicalSorter({each: sorted(reads[each]) for each in relations}).static_order()
    return Known(
        number,
        {fold(relations[each].name): relations[each] for each in order},
        {each: frozenset(reads[each]) for each in relations},
    )


def _add_dependencies(connection: Connection, view: Relation, reads: Iterable[str]) -> None:
    names = list(reads)
    if not names:
        return
    targets = relations_by_name(connection, names, lock=True).values()
    present = {each.id for each in _neighbours(connection, view.id, "view_id", "reads_id")}
    below = _reachable(connection, view.id) | {view.id}
    for target in targets:
        if target.state == "dropping":
            raise BadInput(f"{target.name} is being dropped", code="RV-RELATION-UNKNOWN")
        if target.id in below:
            raise BadInput(f"{view.name} would read itself through {target.name}", code="RV-VIEW-CYCLE")
        if target.id not in present:
            connection.execute(insert(dependency_table).values(view_id=view.id, reads_id=target.id))


def _refuse_if_read(connection: Connection, relation: Relation) -> None:
    readers = [each.name for each in _neighbours(connection, relation.id, "reads_id", "view_id")]
    if readers:
        raise BadInput(
            f"{relation.name} is read by {', '.join(readers)}",
            code="RV-RELATION-IN-USE",
            hint="Drop those views first.",
        )


def _neighbours(connection: Connection, start: int, here: str, there: str) -> tuple[Relation, ...]:
    """The relations one dependency away, followed from column `here` to column `there`."""
    edge = dependency_table.c
    query = (
        select(relation_table)
        .join(dependency_table, edge[there] == relation_table.c.id)
        .where(edge[here] == start)
        .order_by(relation_table.c.id)
    )
    return tuple(relation_of(row) for row in connection.execute(query))


def _reachable(connection: Connection, start: int) -> set[int]:
    """The ids of all views that read `start`, directly or through other views."""
    first = select(dependency_table.c.view_id).where(dependency_table.c.reads_id == start).cte(recursive=True)
    step = select(dependency_table.c.view_id).join(first, dependency_table.c.reads_id == first.c.view_id)
    return set(connection.scalars(select(first.union(step).c.view_id)))
