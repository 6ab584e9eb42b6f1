# SPDX-License-Identifier: Apache-2.0
"""Layouts of tables: which columns the objects of a kind have, and how its cells are found.

A layout is declared where its cells are written (`workload_tables`, `cluster_tables`), as upstream's printers declare theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from steersman.embedded.documents import Document

Cells: TypeAlias = Callable[[Document, float], Sequence[Any]]
"""From an object and the time, in seconds since the epoch, to its cells; one for each column."""


class TableColumn(msgspec.Struct, frozen=True):
    """A column as `columnDefinitions` has it. kubectl shows those of priority 1 with `-o wide`."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class TableLayout(msgspec.Struct, frozen=True):
    columns: tuple[TableColumn, ...]
    cells: Cells


LAYOUTS: Final[dict[tuple[str, str], TableLayout]] = {}
"""By group and kind."""


def layout(group: str, kind: str, columns: str) -> Callable[[Cells], Cells]:
    """Declares the cells of a kind. Columns stand between `|`; `:integer` says a type, a trailing `!` priority 1."""

    def declare(cells: Cells) -> Cells:
        LAYOUTS[group, kind] = TableLayout(tuple(map(_column, columns.split("|"))), cells)
        return cells

    return declare


def _column(text: str) -> TableColumn:
    bare = text.removesuffix("!")
    name, _, kind = bare.partition(":")
    is_name = name == "Name"
    return TableColumn(name, kind or "string", "name" if is_name else "", "", 1 if bare != text else 0)
