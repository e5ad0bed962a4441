"""Rows that were read or written a moment ago. A snapshot never changes, so they are right for as long as they stay."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

import pyarrow as pa

KEPT_BYTES = 64 * 1024 * 1024


class Memory:
    """The rows that were asked for last, as many as fit."""

    def __init__(self, most: int = KEPT_BYTES) -> None:
        self.most = most
        self._rows: OrderedDict[Hashable, pa.Table] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> pa.Table | None:
        with self._lock:
            if key in self._rows:
                self._rows.move_to_end(key)
            return self._rows.get(key)

    def put(self, key: Hashable, rows: pa.Table) -> None:
        if rows.nbytes > self.most:
            return
        with self._lock:
            self._forget(key)
            self._rows[key] = rows
            self._bytes += rows.nbytes
            while self._bytes > self.most:
                self._forget(next(iter(self._rows)))

    def _forget(self, key: Hashable) -> None:
        gone = self._rows.pop(key, None)
        if gone is not None:
            self._bytes -= gone.nbytes
