"""A computed change in the form in which it is stored ahead of the extent: one that adds up with others."""

from __future__ import annotations

from sqlglot import exp

from rollview.algebra.relation import Scan
from rollview.capture.net import summed
from rollview.change import Change
from rollview.deltas.signed import Signed, net
from rollview.lake.lake import Lake
from rollview.names import COUNT
from rollview.plan.emit import emit
from rollview.plan.extent import Extent
from rollview.plan.images import images
from rollview.plan.stages import CHANGED, plain
from rollview.plan.visible import found

WRITTEN = "__written"


def written(lake: Lake, extent: Extent, change: Change, before: exp.Table, *, may_miss: bool, replaced: bool) -> Change:
    """`replaced`: the rows that take the places of changed groups, as these were and are. `may_miss`: a change of rows,
    without the deletions that find nothing. Both by the extent before the change; any other change stays as it is."""

    def bind(scan: Scan) -> exp.Table:
        return (change.name if scan.table == CHANGED else before).copy()

    if replaced:
        signed = images(extent)
    elif may_miss:
        signed = Signed(found(extent, Scan(CHANGED, plain((*extent.columns, COUNT)))))
    else:
        return change
    if change.rows is None:
        frame = lake.persisted(emit(net(signed), bind))
        return Change(lambda: lake.bind(WRITTEN, frame), None)
    rows = summed(lake.fetch(emit(signed.relation, bind)))
    return Change(lambda: lake.bind(WRITTEN, rows), rows)
