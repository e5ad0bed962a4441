"""The net effect of signed rows.

Law: two bags of signed rows are the same change iff every row has the same sum of counts in both. So equal rows
may be cancelled against each other, and the netted bag is the smallest that carries the same change.

Arrow cannot group by nested columns. Here every column is reduced to integer codes, equal iff its values are
equal: a list is the byte string of its elements' codes, a struct the byte string of its fields' codes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollview.names import COUNT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_BITS = {pa.float16(): pa.int16(), pa.float32(): pa.int32(), pa.float64(): pa.int64()}


def net(rows: pa.Table) -> pa.Table:
    """The net effect of `rows` (columns, then `__count`), elementary: every count is +1 or -1."""
    counts = rows.column(COUNT).to_numpy()
    columns = rows.drop_columns([COUNT])
    if not rows.num_rows or bool((counts > 0).all()) or bool((counts < 0).all()):
        return rows
    codes = row_codes(columns)
    totals = np.zeros(int(codes.max()) + 1, dtype=np.int64)
    np.add.at(totals, codes, counts)
    shown, first = np.unique(codes, return_index=True)
    at = np.repeat(first, np.abs(totals[shown]))
    signs = pa.array(np.sign(totals[codes[at]]), pa.int64())
    return rows.take(pa.array(at)).set_column(rows.schema.get_field_index(COUNT), COUNT, signs)


def counted(rows: pa.Table) -> pa.Table:
    """Equal elementary rows as one row with their count."""
    columns = rows.drop_columns([COUNT])
    codes = row_codes(pa.table([unsigned_zero(c) for c in columns.columns], columns.column_names))
    shown, first = np.unique(codes, return_index=True)
    totals = np.zeros(int(codes.max()) + 1, dtype=np.int64)
    np.add.at(totals, codes, rows.column(COUNT).to_numpy())
    return columns.take(pa.array(first)).append_column(COUNT, pa.array(totals[shown], pa.int64()))


def summed(rows: pa.Table) -> pa.Table:
    """Equal rows as one row with the sum of their counts, those that cancel left out."""
    if not rows.num_rows:
        return rows
    total = counted(rows)
    return total.filter(pc.not_equal(total.column(COUNT), 0))


def unsigned_zero(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """0.0 for -0.0, which SQL holds equal."""
    return pc.add(column, pa.scalar(0, column.type)) if pa.types.is_floating(column.type) else column


def row_codes(rows: pa.Table) -> NDArray[np.int64]:
    """One code per row, equal iff the rows are equal (NULL equals NULL, floats by their bits)."""
    columns = [_codes(pa.concat_arrays(c.chunks) if c.num_chunks else _none(c)) for c in rows.columns]
    return _combined(columns, rows.num_rows)


def _none(column: pa.ChunkedArray) -> pa.Array:
    return pa.array([], type=column.type)


def _codes(values: pa.Array) -> NDArray[np.int64]:
    kind = values.type
    if pa.types.is_struct(kind):
        fields = [_codes(values.field(i)) for i in range(kind.num_fields)]
        # The children of a NULL struct may hold anything: blank them.
        missing = values.is_null().to_numpy(zero_copy_only=False)
        return _combined([missing.astype(np.int64), *(np.where(missing, 0, f) for f in fields)], len(values))
    if pa.types.is_map(kind):
        entry = pa.struct([pa.field("key", kind.key_type), pa.field("value", kind.item_type)])
        return _codes(values.cast(pa.list_(entry)))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _of_lists(values)
    if kind in _BITS:
        values = values.view(_BITS[kind])
    return _dictionary(values)


def _of_lists(values: pa.Array) -> NDArray[np.int64]:
    """A list is the byte string of its elements' codes; a NULL list is NULL."""
    elements = _codes(values.flatten())
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]) * elements.itemsize
    valid = np.packbits(values.is_valid().to_numpy(zero_copy_only=False), bitorder="little")
    buffers = [pa.py_buffer(valid), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(elements))]
    return _dictionary(pa.Array.from_buffers(pa.large_binary(), len(values), buffers))


def _combined(columns: Sequence[NDArray[np.int64]], length: int) -> NDArray[np.int64]:
    if not columns:
        return np.zeros(length, dtype=np.int64)
    if len(columns) == 1:
        return columns[0]
    matrix = np.ascontiguousarray(np.column_stack(columns))
    width = matrix.itemsize * matrix.shape[1]
    packed = pa.Array.from_buffers(pa.binary(width), length, [None, pa.py_buffer(matrix)])
    return _dictionary(packed)


def _dictionary(values: pa.Array) -> NDArray[np.int64]:
    encoded = pc.dictionary_encode(values, null_encoding="encode")
    codes: NDArray[np.int64] = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes
