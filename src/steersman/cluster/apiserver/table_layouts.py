# SPDX-License-Identifier: Apache-2.0
"""Layouts of tables: the columns of a kind, and the cell of each column.

`tables.json` declares the columns of each kind, as upstream's printers do; `workload_tables` and
`cluster_tables` have functions of cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeAlias

import msgspec

from steersman.api import part
from steersman.cluster.apiserver.table_texts import access_modes_text, age, labels_text, selector_text
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


def layout(columns: str, cells: Cells) -> TableLayout:
    """Return the layout with one function for all cells; `|` separates the columns."""
    return TableLayout(tuple(map(_column, columns.split("|"))), cells)


def declared_layouts(*modules: ModuleType) -> dict[tuple[str, str], TableLayout]:
    """Return the layouts in `tables.json` by group and kind.

    A column is written as `Name`, `Desired:integer` (type) or `Selector!` (priority 1). Its cell is
    the path of a field, `format:path`, or `=function` of one of the modules; a list has a default
    too.
    """
    functions = {name: value for module in modules for name, value in vars(module).items()}
    tables = msgspec.json.decode(Path(__file__).with_name("tables.json").read_bytes())
    found = {}
    for name, columns in tables.items():
        group, _, kind = name.rpartition("/")
        found[group, kind] = _table(columns, functions)
    return found


def _table(columns: Mapping[str, Any], functions: Mapping[str, Cell]) -> TableLayout:
    cells = tuple(_declared_cell(notation, functions) for notation in columns.values())
    names = tuple(map(_column, columns))
    return TableLayout(names, lambda document, now: [cell(document, now) for cell in cells])


def _declared_cell(notation: str | list[Any], functions: Mapping[str, Cell]) -> Cell:
    text, *default = [notation] if isinstance(notation, str) else notation
    if text.startswith("="):
        return functions[text[1:]]
    name, _, path = text.rpartition(":")
    return _formatted(_FORMATS[name], path, *default) if name else field(path, *default)


def _formatted(write: Callable[[Any, float], Any], path: str, default: Any = None) -> Cell:
    """Return the cell with a field as `write` formats it; a default replaces an empty text or
    value."""
    value = field(path, None)

    def cell(document: Document, now: float) -> Any:
        found = value(document, now)
        if default is None:
            return write(found, now)
        return default if found is None else write(found, now) or default

    return cell


def _container_values(name: str) -> Callable[[Any, float], str]:
    return lambda containers, _: ",".join(str(container.get(name, "")) for container in containers or ())


_FORMATS: Final[Mapping[str, Callable[[Any, float], Any]]] = {
    "age": age,
    "count": lambda values, _: len(values or ()),
    "images": _container_values("image"),
    "labels": lambda labels, _: labels_text(labels),
    "modes": lambda modes, _: access_modes_text(modes),
    "names": _container_values("name"),
    "selector": lambda selector, _: selector_text(selector),
    "text": lambda value, _: str(value),
}


def field(path: str, default: Any = "") -> Cell:
    """Return the cell with the value of a field, or with the default if missing or empty."""
    *parents, name = path.split(".")

    def cell(document: Document, _: float) -> Any:
        found = part(document, *parents).get(name)
        return default if found is None or found == "" else found

    return cell


name_cell: Final = field("metadata.name")


age_cell: Final = _formatted(age, "metadata.creationTimestamp")


def _column(text: str) -> TableColumn:
    bare = text.removesuffix("!")
    name, _, kind = bare.partition(":")
    is_name = name == "Name"
    return TableColumn(name, kind or "string", "name" if is_name else "", "", 1 if bare != text else 0)
