"""Where the values of a column lie, as literals: Spark prunes files and row groups by them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Region:
    """All the `values` if they are few, else `ranges` that hold them (both ends included); perhaps NULL as well."""

    values: tuple[exp.Expr, ...] = ()
    ranges: tuple[tuple[exp.Expr, exp.Expr], ...] = ()
    nulls: bool = False

    def union(self, other: Region) -> Region:
        return Region(
            tuple(dict.fromkeys((*self.values, *other.values))),
            tuple(dict.fromkeys((*self.ranges, *other.ranges))),
            self.nulls or other.nulls,
        )

    def test(self, tree: exp.Expr, *, nulls: bool = True) -> exp.Expr:
        """Is the value of `tree` in the region? An equality never needs the NULLs."""
        tests: list[exp.Expr] = [
            exp.Between(this=tree.copy(), low=low.copy(), high=high.copy()) for low, high in self.ranges
        ]
        if self.values:
            tests.append(exp.In(this=tree.copy(), expressions=[v.copy() for v in self.values]))
        if self.nulls and nulls:
            tests.append(exp.Is(this=tree.copy(), expression=exp.Null()))
        return tests[0] if len(tests) == 1 else exp.Paren(this=exp.or_(*tests))
