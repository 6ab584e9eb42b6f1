# SPDX-License-Identifier: Apache-2.0
"""The rows of a sweep as a table: columns and their types, and the Parquet file.

The same rows give the same bytes: the order of rows and columns is that of the matrix and of `columns_of`, and everything that
the writer could choose is fixed here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from steersman.errors import SteersmanError
from steersman.scenario import MEASURES
from steersman.sweep.measures import COUNTS, TEXTS, Row, Value

if TYPE_CHECKING:
    import pyarrow

PARAMETER: Final = "parameter."
"""Beginning of columns: the values of parameters, by name."""
NEEDS_PYARROW: Final = "results of sweeps are written as Parquet, which needs pyarrow: pip install 'steersman[frames]'"
_FIRST: Final = ("configuration", "input", "seed")
_INTEGERS: Final = frozenset({"seed", *COUNTS})
_ROWS_PER_GROUP: Final = 65_536


def columns_of(rows: Sequence[Row]) -> list[str]:
    """All columns that some row has: which run, counts, what depends on the input, texts."""
    found = dict.fromkeys(name for row in rows for name in row)
    parameters = [name for name in found if name.startswith(PARAMETER)]
    fixed = [*_FIRST, *parameters, *(name for name in MEASURES if name in found)]
    others = sorted(name for name in found if name not in fixed and name not in TEXTS)
    return [*fixed, *others, *TEXTS]


def require_pyarrow() -> None:
    """Raises `SteersmanError` where no Parquet could be written, before anything runs."""
    try:
        import pyarrow.parquet  # noqa: F401  # its presence is the question
    except ImportError:
        raise SteersmanError(NEEDS_PYARROW) from None


def write_parquet(rows: Sequence[Row], path: Path) -> list[str]:
    """Writes the file at once, or not at all; returns its columns."""
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
    """The rows as Arrow has them; a value that a row does not have is null."""
    import pyarrow

    arrays = {}
    for name in columns:
        values = [row.get(name) for row in rows]
        kind = _type(name, values)
        arrays[name] = pyarrow.array([_converted(value, kind) for value in values], type=kind)
    return pyarrow.table(arrays)


def _type(name: str, values: Iterable[Value]) -> pyarrow.DataType:
    """The type of a column: by its name, for parameters alone by their values."""
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
    """Parameters of several types become texts."""
    return str(value) if value is not None and str(kind) == "string" else value
