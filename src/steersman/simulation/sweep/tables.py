# SPDX-License-Identifier: Apache-2.0
"""The rows of a sweep as a table: columns, their types, and the Parquet file.

Equal rows give identical bytes: rows are in the order of the matrix, columns in that of
`columns_of`, and all options of the writer are fixed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from steersman.base import SteersmanError
from steersman.simulation.results.frames import FrameTable
from steersman.simulation.scenario import MEASURES
from steersman.simulation.sweep.measures import COUNTS, TEXTS, Row, Value

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
        _frame_table(rows, columns).to_frame("pyarrow"),
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


def _frame_table(rows: Sequence[Row], columns: Sequence[str]) -> FrameTable:
    """Return the rows as a table; parameters of several types are text."""
    types = {name: _type(name, {type(row.get(name)) for row in rows}) for name in columns}
    return FrameTable(types, (tuple(_converted(row.get(name), kind) for name, kind in types.items()) for row in rows))


def _type(name: str, kinds: set[type]) -> type:
    """Return the type of a column by its name, or for parameters by the types of their values."""
    if name in _INTEGERS:
        return int
    if name in TEXTS or name in _FIRST:
        return str
    if not name.startswith(PARAMETER):
        return float
    if len(kinds) == 1 and kinds <= {bool, int}:
        return kinds.pop()
    return float if kinds <= {int, float} else str


def _converted(value: Value, kind: type) -> Value:
    return str(value) if value is not None and kind is str else value
