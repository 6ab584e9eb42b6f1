# SPDX-License-Identifier: Apache-2.0
"""Results as tables: data frames of pandas or polars, Arrow tables, CSV and Parquet files.

A result has several tables (`TABLES`). Columns have a name and a declared type, so that tables
without rows and columns without values have the same types as full ones. pandas and polars are used
if they are installed; Parquet needs the extra `steersman[frames]`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct, json
from msgspec.structs import astuple, fields

from steersman.base import InputError, SteersmanError
from steersman.simulation.results.placements import NamespaceSummary
from steersman.simulation.virtual_time.writer import Event, Preemption

if TYPE_CHECKING:
    from steersman.simulation.results.result import Result

Types: TypeAlias = "Mapping[str, type]"
Row: TypeAlias = "tuple[str | int | float | bool | None, ...]"
LIBRARIES: Final = ("pandas", "polars", "pyarrow")
NO_LIBRARY: Final = "data frames need pandas or polars, and neither is installed; pip install pandas"
NO_PARQUET: Final = "Parquet files need pyarrow, which is not installed; pip install 'steersman[frames]'"


class FrameTable:
    """Rows with typed columns. `types` are str, int, float and bool; str and float values may be
    None."""

    def __init__(self, types: Types, rows: Iterable[Row]) -> None:
        self.types = types
        self.rows: Sequence[Row] = list(rows)

    def columns(self) -> dict[str, list[Any]]:
        """Return the values by column."""
        values = zip(*self.rows, strict=True) if self.rows else ([] for _ in self.types)
        return {name: list(column) for name, column in zip(self.types, values, strict=True)}

    def to_frame(self, library: str | None = None) -> Any:
        """Return a data frame of the library, by default of pandas or polars, whichever is
        installed; `pyarrow` returns a Table."""
        chosen = _library(library)
        if chosen == "pandas":
            return self._pandas()
        return self._polars() if chosen == "polars" else self._arrow()

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """Return CSV text with a header; also write it to the path, if given."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.types)
        writer.writerows(self.rows)
        if path is not None:
            _written(path, lambda: Path(path).write_text(text.getvalue(), "utf-8", newline=""))
        return text.getvalue()

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write a Parquet file; equal rows give equal bytes."""
        if find_spec("pyarrow") is None:
            raise SteersmanError(NO_PARQUET)
        _written(path, lambda: Path(path).write_bytes(self.parquet_bytes()))

    def parquet_bytes(self) -> bytes:
        """Return the content of the Parquet file. Needs pyarrow."""
        from pyarrow import parquet

        content = io.BytesIO()
        parquet.write_table(self._arrow(), content, compression="zstd")
        return content.getvalue()

    def _arrow(self) -> Any:
        import pyarrow

        types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
        schema = pyarrow.schema([(name, types[kind]) for name, kind in self.types.items()])
        return pyarrow.table(self.columns(), schema=schema)

    def _pandas(self) -> Any:
        import pandas

        kinds = {str: "object", int: "int64", float: "float64", bool: "bool"}
        columns = self.columns()
        return pandas.DataFrame(
            {name: pandas.Series(columns[name], dtype=kinds[kind]) for name, kind in self.types.items()}
        )

    def _polars(self) -> Any:
        import polars

        types = {str: polars.String, int: polars.Int64, float: polars.Float64, bool: polars.Boolean}
        return polars.DataFrame(self.columns(), schema={name: types[kind] for name, kind in self.types.items()})


def _library(wanted: str | None) -> str:
    if wanted is None:
        installed = [name for name in ("pandas", "polars") if find_spec(name) is not None]
        if not installed:
            raise SteersmanError(NO_LIBRARY)
        return installed[0]
    if wanted not in LIBRARIES:
        raise InputError("is not a library for data frames", value=wanted, hint=f"use one of {', '.join(LIBRARIES)}")
    if find_spec(wanted) is None:
        raise SteersmanError(f"{wanted} is not installed; pip install {wanted}")
    return wanted


def _written(path: str | PathLike[str], write: Callable[[], object]) -> None:
    try:
        write()
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=fspath(path)) from error


# -- the tables of a result ----------------------------------------------------------------------------------------------------

_FIELD_TYPES: Final[Mapping[object, type]] = {str: str, int: int, float: float, float | None: float}

_PLACEMENTS: Final[Types] = {
    "pod": str,
    "namespace": str,
    "name": str,
    "node": str,
    "is_pending": bool,
    "bound_at": float,
    "pending_since": float,
    "attempts": int,
    "reason": str,
    "message": str,
    "created": float,
    "finished": float,
    "priority": int,
    "cpu": int,
    "memory": int,
    "requests": str,
}
_UTILISATION: Final[Types] = {"node": str, "resource": str, "allocatable": int, "requested": int, "fraction": float}
_SERIES: Final[Types] = {"time": float, "measure": str, "pool": str, "of": str, "value": float}


def _placements(result: Result) -> FrameTable:
    rows = (
        (
            p.pod,
            *p.pod.split("/", 1),
            p.node or None,
            p.is_pending,
            p.at,
            p.since,
            p.attempts,
            p.reason or None,
            p.message or None,
            p.created,
            p.finished,
            p.priority,
            p.requests.get("cpu", 0),
            p.requests.get("memory", 0),
            json.encode(p.requests, order="deterministic").decode(),
        )
        for p in result.placements.values()
    )
    return FrameTable(_PLACEMENTS, rows)


def _of_structs(kind: type[Struct], items: Iterable[Struct]) -> FrameTable:
    """Return a table with a column per field of the structs."""
    return FrameTable({field.name: _FIELD_TYPES[field.type] for field in fields(kind)}, map(astuple, items))


def _namespaces(result: Result) -> FrameTable:
    return _of_structs(NamespaceSummary, result.by_namespace.values())


def _events(result: Result) -> FrameTable:
    return _of_structs(Event, result.events)


def _preempted(result: Result) -> FrameTable:
    return _of_structs(Preemption, result.preempted)


def _utilisation(result: Result) -> FrameTable:
    rows = (
        (node, resource, usage.allocatable, usage.requested, usage.fraction)
        for node, usages in result.utilisation.nodes.items()
        for resource, usage in usages.items()
    )
    return FrameTable(_UTILISATION, rows)


def _series(result: Result) -> FrameTable:
    """Yield a row per time and value: measure, pool if any, and resource, reason, lane or
    percentile."""
    series = result.series
    lines: list[tuple[str, str | None, str | None, Sequence[float]]] = [
        ("preemptions", None, None, series.preemptions),
        ("cost", None, None, series.cost),
        ("waiting", None, "p50", series.waiting.p50),
        ("waiting", None, "p99", series.waiting.p99),
    ]
    for measure in ("utilisation", "pending", "lanes", "fragmentation"):
        lines += ((measure, None, name, values) for name, values in getattr(series, measure).items())
    for pool, resources in series.by_pool.items():
        lines += (("utilisation", pool, name, values) for name, values in resources.items())
    rows = (
        (moment, measure, pool, of, float(value))
        for measure, pool, of, values in lines
        for moment, value in zip(series.times, values, strict=True)
    )
    return FrameTable(_SERIES, rows)


TABLES: Final[Mapping[str, Callable[[Result], FrameTable]]] = {
    "placements": _placements,
    "namespaces": _namespaces,
    "utilisation": _utilisation,
    "events": _events,
    "preempted": _preempted,
    "series": _series,
}
"""The tables of a result, by name."""


def result_table(result: Result, name: str) -> FrameTable:
    """Return the table with this name. Raises `InputError` if it is not in `TABLES`."""
    make = TABLES.get(name)
    if make is None:
        raise InputError("is not a table of a result", value=name, hint=f"use one of {', '.join(TABLES)}")
    return make(result)
