"""Window functions: by affected partitions.

A window function looks at nothing but the rows of its own partition, so only the partitions that ΔR names can change:

    ΔW(R) = -W(R_before ⋉ K) ⊎ W(R_after ⋉ K),   K = the partitions of ΔR.

Without PARTITION BY there is one partition, and K is everything.
"""

from __future__ import annotations

from dataclasses import replace

from rollview.algebra.relation import Relation, UnionAll, Window
from rollview.deltas.signed import Signed, rows_as
from rollview.names import COUNT
from rollview.rules.aggregate import affected


def window_delta(node: Window, before: Relation, after: Relation, source: Signed) -> Signed:
    """The law above."""
    partition = tuple((str(i), key) for i, key in enumerate(node.partition))
    lost = rows_as(replace(node, source=affected(partition, before, source)), -1)
    gained = rows_as(replace(node, source=affected(partition, after, source)), 1)
    return Signed(UnionAll((lost, gained), (*node.names, COUNT)))
