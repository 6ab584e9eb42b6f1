# SPDX-License-Identifier: Apache-2.0
"""The rows of a sweep as a table: columns, their types, and the Parquet file.

Equal rows give identical bytes: rows are in the order of the matrix, columns in that of
`columns_of`, and all options of the writer are fixed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from steersman.base import SteersmanError
from steersman.simulation.scenario import MEASURES
from steersman.simulation.sweep.measures import COUNTS, TEXTS, Row, Value

if TYPE_CHECKING:
    import pyarrow

PARAMETER: Final = "parameter."
"""Prefix of columns with parameter values."""
NEEDS_PYARROW: Final = "results of sweeps are written as Parquet, which needs pyarrow: pip install 'steersman[frames]'"
_FIRST: Final = ("configuration", "input", "seed")
_INTEGERS: Final = frozenset({"seed", *COUNTS})
_ROWS_PER_GROUP: Final = 65_536


def columns_of(rows: Sequence[Row]) -> list[str]:
    """Return the columns of all rows: identity, measures, input-dependent columns, texts."""
    found = dict.fromkeys(name for row in rows for name in row)
    parameters = [name for name in found if name.startswith(PARAMETER)]
    fixed = [*_FIRST, *parameters, *(name for name in MEASURES if name in found)]
    others = sorted(name for name in found if name not in fixed and name not in TEXTS)
    return [*fixed, *others, *TEXTS]


def require_pyarrow() -> None:
    """Raise `SteersmanError` if Parquet files cannot be written."""
    try:
        import pyarrow.parquet  # noqa: F401  # checks the import only
    except ImportError:
        raise SteersmanError(NEEDS_PYARROW) from None


def write_parquet(rows: Sequence[Row], path: Path) -> list[str]:
    """Write the file atomically, and return its columns."""
    from pyarrow import parquet

    columns = columns_of(rows)
    partial = path.with_name(f".{path.name}.partial")
    parquet.write_table(
        arrow_table(rows, columns),
        partial,
        row_group_size=_ROWS_PER_GROUP,
        version="2.6",
        compression="zstd",
        compression_level=3,
        use_dictionary=True,
        write_statistics=True,
        store_schema=False,
    )
    os.replace(partial, path)
    return columns


def arrow_table(rows: Sequence[Row], columns: Sequence[str]) -> pyarrow.Table:
    """Return the rows as an Arrow table; missing values are null."""
    import pyarrow

    arrays = {}
    for name in columns:
        values = [row.get(name) for row in rows]
        kind = _type(name, values)
        arrays[name] = pyarrow.array([_converted(value, kind) for value in values], type=kind)
    return pyarrow.table(arrays)


def _type(name: str, values: Iterable[Value]) -> pyarrow.DataType:
    """Return the type of a column by its name, or for parameters by their values."""
    import pyarrow

    if name in _INTEGERS:
        return pyarrow.int64()
    if name in TEXTS or name in _FIRST:
        return pyarrow.string()
    if not name.startswith(PARAMETER):
        return pyarrow.float64()
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return pyarrow.bool_()
    if kinds == {int}:
        return pyarrow.int64()
    return pyarrow.float64() if kinds <= {int, float} else pyarrow.string()


def _converted(value: Value, kind: Any) -> Value:
    """Return the value, as text in string columns (parameters of several types)."""
    return str(value) if value is not None and str(kind) == "string" else value
