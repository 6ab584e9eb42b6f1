# SPDX-License-Identifier: Apache-2.0
"""`meta.k8s.io/v1` Tables: objects as the rows that `kubectl get` prints.

`tables.json` declares columns of built-in kinds; a CustomResourceDefinition has its own
(`additionalPrinterColumns`); other kinds have a name and an age.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from steersman.api import find_values, part
from steersman.base import InputError
from steersman.cluster.apiserver import cluster_tables, workload_tables
from steersman.cluster.apiserver.table_layouts import TableColumn, TableLayout, declared_layouts, layout
from steersman.cluster.apiserver.table_texts import INVALID, age
from steersman.cluster.store.documents import Document

IncludeObject: TypeAlias = Literal["Metadata", "Object", "None"]
"""Part of the object that Table rows contain besides cells."""

PrinterColumn: TypeAlias = Mapping[str, Any]
"""An entry of `additionalPrinterColumns`."""

LAYOUTS: Final[Mapping[tuple[str, str], TableLayout]] = {
    **declared_layouts(cluster_tables, workload_tables),
    ("", "Pod"): layout(workload_tables.POD_COLUMNS, workload_tables.pod_cells),
    ("", "Event"): layout(cluster_tables.EVENT_COLUMNS, cluster_tables.event_cells("involvedObject", "message")),
    ("events.k8s.io", "Event"): layout(
        cluster_tables.EVENT_COLUMNS, cluster_tables.event_cells("regarding", "note", "deprecated")
    ),
}
"""Layouts by group and kind."""
_META_VERSION: Final = "meta.k8s.io/v1"
_NAME: Final = TableColumn("Name", "string", "name", "Name must be unique within a namespace.")
_AGE: Final[PrinterColumn] = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def table_of(
    documents: Iterable[Document],
    api_version: str,
    kind: str,
    now: float,
    *,
    include_object: IncludeObject = "Metadata",
    printer_columns: Sequence[PrinterColumn] | None = None,
    list_metadata: Document | None = None,
    has_header: bool = True,
) -> Document:
    """Return the Table of objects of one kind. `now` is in seconds since the epoch;
    `printer_columns` are those of a custom resource ([] without any). A watch sends the header in
    its first event only."""
    layout = layout_of(api_version, kind, printer_columns)
    return {
        "kind": "Table",
        "apiVersion": _META_VERSION,
        "metadata": list_metadata or {},
        "columnDefinitions": [msgspec.to_builtins(column) for column in layout.columns] if has_header else [],
        "rows": [_row(document, layout, now, include_object) for document in documents],
    }


def layout_of(api_version: str, kind: str, printer_columns: Sequence[PrinterColumn] | None = None) -> TableLayout:
    """Return the columns of a kind."""
    group = api_version.rpartition("/")[0]
    known = LAYOUTS.get((group, kind)) if printer_columns is None else None
    return known or _custom_layout(printer_columns or (_AGE,))


def _row(document: Document, layout: TableLayout, now: float, include_object: IncludeObject) -> Document:
    row: Document = {"cells": list(layout.cells(document, now))}
    if include_object == "Object":
        row["object"] = document
    elif include_object == "Metadata":
        metadata = document.get("metadata", {})
        row["object"] = {"kind": "PartialObjectMetadata", "apiVersion": _META_VERSION, "metadata": metadata}
    return row


def _custom_layout(columns: Sequence[PrinterColumn]) -> TableLayout:
    def cells(document: Document, now: float) -> Sequence[Any]:
        name = part(document, "metadata").get("name", "")
        return [name, *(_custom_cell(column, document, now) for column in columns)]

    return TableLayout((_NAME, *map(_custom_column, columns)), cells)


def _custom_column(column: PrinterColumn) -> TableColumn:
    texts = [str(column.get(name, "")) for name in ("name", "type", "format", "description")]
    return TableColumn(texts[0], texts[1], texts[2], texts[3], int(column.get("priority") or 0))


def _custom_cell(column: PrinterColumn, document: Document, now: float) -> Any:
    """Return the first value at the path if it has the column's type, else None (an empty cell)."""
    try:
        found = find_values(str(column.get("jsonPath", "")), document)
    except InputError:
        return None
    value = found[0] if found else None
    return None if value is None else _cell(str(column.get("type", "")), value, now)


def _cell(kind: str, value: Any, now: float) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "string":
        return _text(value)
    if kind == "integer":
        return int(value) if is_number else None
    if kind == "number":
        return float(value) if is_number else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if kind == "date":
        return age(value, now) if isinstance(value, str) else INVALID
    return None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()
