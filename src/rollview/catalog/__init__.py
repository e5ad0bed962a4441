"""Control tables: relations, unit of work, marks, leases, refresh history, in the catalog's own database."""

from rollview.catalog.history import History, HistoryRow, Run
from rollview.catalog.leases import Holder, Lease, Leases
from rollview.catalog.marks import Extent, Mark, Marks
from rollview.catalog.relations import ColumnInfo, Kind, Relation, Relations, State
from rollview.catalog.replacements import Moment, Replacements
from rollview.catalog.steps import Pending, Step, Steps
from rollview.catalog.store import ControlStore
from rollview.catalog.ticks import ChangeTotals, TableChange, TickCommit, Ticks, Waiting

__all__ = [
    "ChangeTotals",
    "ColumnInfo",
    "ControlStore",
    "Extent",
    "History",
    "HistoryRow",
    "Holder",
    "Kind",
    "Lease",
    "Leases",
    "Mark",
    "Marks",
    "Moment",
    "Pending",
    "Relation",
    "Relations",
    "Replacements",
    "Run",
    "State",
    "Step",
    "Steps",
    "TableChange",
    "TickCommit",
    "Ticks",
    "Waiting",
]
