# SPDX-License-Identifier: Apache-2.0
"""Layouts of tables: the columns of a kind, and the cell of each column.

`workload_tables` and `cluster_tables` declare a dict of columns per kind, as upstream's printers do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from steersman.api import part
from steersman.cluster.apiserver.table_texts import age
from steersman.cluster.store.documents import Document

Cell: TypeAlias = Callable[[Document, float], Any]
"""Function of an object and the time, in seconds since the epoch, to the content of a cell."""
Cells: TypeAlias = Callable[[Document, float], Sequence[Any]]
"""Function of an object and the time to its cells, one for each column."""


class TableColumn(msgspec.Struct, frozen=True):
    """Column as in `columnDefinitions`. kubectl shows columns of priority 1 with `-o wide`."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class TableLayout(msgspec.Struct, frozen=True):
    """Columns of a kind, and the function that computes their cells."""

    columns: tuple[TableColumn, ...]
    cells: Cells


LAYOUTS: Final[dict[tuple[str, str], TableLayout]] = {}
"""Layouts by group and kind."""


def layout(group: str, kind: str, columns: str) -> Callable[[Cells], Cells]:
    """Declare a function of all cells of a kind; `|` separates columns, written as in `table`."""

    def declare(cells: Cells) -> Cells:
        LAYOUTS[group, kind] = TableLayout(tuple(map(_column, columns.split("|"))), cells)
        return cells

    return declare


def table(group: str, kind: str, columns: Mapping[str, Cell]) -> None:
    """Declare the columns of a kind: `Name`, `Desired:integer` (type), `Selector!` (priority 1)."""
    functions = tuple(columns.values())
    LAYOUTS[group, kind] = TableLayout(
        tuple(map(_column, columns)), lambda document, now: [cell(document, now) for cell in functions]
    )


def field(path: str, default: Any = "") -> Cell:
    """Return the cell with the value of a field, or with the default if missing or empty."""
    *parents, name = path.split(".")

    def cell(document: Document, _: float) -> Any:
        found = part(document, *parents).get(name)
        return default if found is None or found == "" else found

    return cell


name_cell: Final = field("metadata.name")


def age_cell(document: Document, now: float) -> str:
    """Return the age of an object."""
    return age(part(document, "metadata").get("creationTimestamp"), now)


def _column(text: str) -> TableColumn:
    bare = text.removesuffix("!")
    name, _, kind = bare.partition(":")
    is_name = name == "Name"
    return TableColumn(name, kind or "string", "name" if is_name else "", "", 1 if bare != text else 0)
