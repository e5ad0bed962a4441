"""Random GROUP BY and HAVING."""

from __future__ import annotations

from dataclasses import dataclass

from tests.property.random_views.scope import BOOL, COMPARABLE, DRIFT, INT, LIST, REAL, SIMPLE, Query, Scope
from tests.property.random_views.subqueries import Subqueries


@dataclass(frozen=True)
class Output:
    text: str
    name: str
    kind: str
    is_key: bool
    """a key and nothing else"""


class Groups(Subqueries):
    def grouped(self, scope: Scope, source: str, wanted: list[str] | None, *, plain: bool) -> Query:
        keys: dict[str, str] = {}
        for _ in range(self.rng.choice((0, 1, 1, 1, 2, 3))):
            kind = self.kind(scope, SIMPLE if plain else COMPARABLE)
            keys[self.key(scope, kind)] = kind
        sets = self.grouping_sets(keys)
        kinds = wanted or [self.measured_kind(plain) for _ in range(self.rng.randint(1, 4))]
        outputs = [self.output(scope, keys, kind, sets=sets is not None) for kind in kinds]
        listed = ", ".join(f"{o.text} AS {o.name}" for o in outputs)
        having = f" HAVING {self.having(scope, keys)}" if self.chance(0.2) else ""
        group_by = f" GROUP BY {sets or self.group_by(keys, outputs)}" if keys else ""
        return Query(f"SELECT {listed} FROM {source}{group_by}{having}", [(o.name, o.kind) for o in outputs])

    def kind(self, scope: Scope, among: tuple[str, ...]) -> str:
        choices = [INT, INT, INT, INT, BOOL]
        choices += [k for k in (REAL, LIST, DRIFT) if k in among and scope.of(k)]
        return self.rng.choice(choices)

    def measured_kind(self, plain: bool) -> str:
        choices = [INT] * 7 + [BOOL]
        if not plain:
            choices += [REAL, DRIFT] if self.shared or self.narrow else [REAL, DRIFT, LIST]
        return self.rng.choice(choices)

    def key(self, scope: Scope, kind: str) -> str:
        columns = scope.of(kind)
        if columns and self.chance(0.8):
            return self.reference(scope, self.rng.choice(columns))
        if kind == INT and self.chance(0.2):
            return f"(0 + {self.rng.randint(-1, 3)})"  # a bare number would be a position
        return f"({self.expression(scope, kind, 1)} {'+ 0' if kind == INT else ''})"

    def output(self, scope: Scope, keys: dict[str, str], kind: str, *, sets: bool) -> Output:
        fitting = [k for k, found in keys.items() if found == kind]
        if fitting and self.chance(0.5 if kind == INT else 1.0):
            return Output(self.rng.choice(fitting), self.name("c"), kind, is_key=True)
        return Output(self.computed(scope, keys, fitting, kind, sets=sets), self.name("c"), kind, is_key=False)

    def computed(self, scope: Scope, keys: dict[str, str], fitting: list[str], kind: str, *, sets: bool) -> str:
        if kind == BOOL and self.chance(0.5):
            return self.comparison(self.measure(scope), self.measure(scope))
        if kind != INT:
            return self.measure(scope, kind)
        if sets and self.chance(0.3):
            return f"GROUPING({self.rng.choice(list(keys))})"
        if fitting and self.chance(0.2):
            return f"{self.rng.choice(fitting)} + {self.measure(scope)}"
        if self.widely(0.05):
            return self.over_groups(scope, list(keys))
        if self.chance(0.1):
            return f"{self.measure(scope)} - {self.measure(scope)}"
        return self.measure(scope)

    def grouping_sets(self, keys: dict[str, str]) -> str | None:
        """Of columns only: DuckDB does not count constants as groups, Spark does."""
        if len(keys) < 2 or any(k.startswith("(") for k in keys) or not self.widely(0.25):
            return None
        if self.shared and self.named_twice(keys):
            return None
        listed = ", ".join(keys)
        # the empty set over no rows has no row in Spark, and one in DuckDB
        if not self.shared and self.chance(0.4):
            return f"{self.rng.choice(('ROLLUP', 'CUBE'))} ({listed})"
        sets = [self.rng.sample(list(keys), self.rng.randint(1, len(keys))) for _ in range(self.rng.randint(1, 3))]
        return "GROUPING SETS (" + ", ".join(f"({', '.join(found)})" for found in [list(keys), *sets]) + ")"

    @staticmethod
    def named_twice(keys: dict[str, str]) -> bool:
        """With its table and without: one column in Spark, two in DuckDB's GROUPING SETS."""
        names = [k.lower() for k in keys]
        return any(k.rpartition(".")[2] in names for k in names if "." in k) or len(set(names)) < len(names)

    def group_by(self, keys: dict[str, str], outputs: list[Output]) -> str:
        shown = {o.text for o in outputs if o.is_key}
        mixed = any(not o.is_key and any(k in o.text for k in keys) for o in outputs)
        columns = not any(k.startswith("(") for k in keys)
        if shown == set(keys) and columns and not mixed and self.chance(0.2):
            return "ALL"
        parts = []
        for key in keys:
            places = [i for i, o in enumerate(outputs) if o.is_key and o.text == key]
            form = self.rng.random()
            if places and form < 0.2:
                parts.append(str(places[0] + 1))
            elif places and form < 0.4:
                parts.append(outputs[places[0]].name)
            else:
                parts.append(key)
        if self.chance(0.05):
            parts.append(parts[0])
        return ", ".join(parts)

    def having(self, scope: Scope, keys: dict[str, str]) -> str:
        ints = [k for k, kind in keys.items() if kind == INT]
        left = self.rng.choice(ints) if ints and self.chance(0.2) else self.measure(scope)
        if self.scans_left > 0 and self.widely(0.1):
            inner = self.base(self.rng.choice(list(self.tables)), self.name("t"))
            own = next(c for c in inner.columns if c.kind == INT)
            return f"{left} {self.rng.choice(('', 'NOT '))}IN (SELECT {self.full(own)} FROM {inner.sql})"
        if self.scans_left > 0 and self.widely(0.1):
            return self.comparison(left, self.unrelated_scalar())
        return self.comparison(left, str(self.rng.randint(0, 3)))
