"""The changed groups of an extent as signed rows: plan/images.py carried out."""

from __future__ import annotations

from sqlglot import exp

from rollview.algebra.relation import Scan
from rollview.capture.net import summed
from rollview.change import Change
from rollview.deltas.signed import net
from rollview.lake.lake import Lake
from rollview.plan.emit import emit
from rollview.plan.extent import Extent
from rollview.plan.images import images
from rollview.plan.stages import CHANGED


def imaged(lake: Lake, extent: Extent, replaced: Change, before: exp.Table) -> Change:
    """The net change of the stored groups, from the rows that take their places and the extent before them."""

    def bind(scan: Scan) -> exp.Table:
        return (replaced.name if scan.table == CHANGED else before).copy()

    change = images(extent)
    if replaced.rows is None:
        frame = lake.persisted(emit(net(change), bind))
        return Change(lambda: lake.bind(IMAGES, frame), None)
    rows = summed(lake.fetch(emit(change.relation, bind)))
    return Change(lambda: lake.bind(IMAGES, rows), rows)


IMAGES = "__images"
