# SPDX-License-Identifier: Apache-2.0
"""Output of `steersman plan …`: tables, JSON, YAML and CSV; and the exit code.

The tables on a terminal are those of the report, truncated if they are long.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from steersman.cli.explain import MAX_NODES, answer_texts
from steersman.cli.output import ExitCode, say, say_json, say_note, say_yaml, terminal_width
from steersman.cli.parameters import Given
from steersman.cli.report_file import command_line, write_report

if TYPE_CHECKING:
    from steersman import api
    from steersman.base.report import Cell, Column, Table
    from steersman.explain import PodExplanation
    from steersman.plan import PlanAnswer
    from steersman.simulation import Simulation

MAX_TABLE_ROWS: Final = 20
"""Maximum number of rows printed in a table; JSON, YAML and CSV contain all."""


class Explainer:
    """Explains the pods named by `--explain`, while their simulation exists."""

    def __init__(self, pods: Sequence[str]) -> None:
        self._pods = pods
        self.explanations: list[PodExplanation] = []

    def __call__(self, simulation: Simulation) -> None:
        from steersman.explain import explain_pod

        self.explanations += [explain_pod(simulation, pod) for pod in self._pods]


def conclude(
    answer: PlanAnswer, given: Given, explanations: Sequence[PodExplanation] = (), *, interrupted: bool = False
) -> None:
    """Print the answer in the requested format and end the command: with 0 for a yes, 1 for a no,
    130 after Ctrl-C."""
    for note in answer.notes:
        say_note(note)
    if given["report_file"]:
        write_report(answer.report([command_line()]), given["report_file"])
    output = given["output"]
    if output == "table":
        say("\n".join(_lines(answer, explanations, terminal_width())))
    elif output == "csv":
        say(_csv(answer).rstrip("\n"))
    else:
        document = answer.to_dict()
        if explanations:
            document["explanations"] = [explanation.to_dict() for explanation in explanations]
        say_json(document) if output == "json" else say_yaml(document)
    click.get_current_context().exit(
        ExitCode.INTERRUPTED if interrupted else ExitCode.YES if answer.is_met else ExitCode.NO
    )


def write_manifests(objects: Sequence[api.Object], path: str) -> None:
    """Write the objects as YAML, for `steersman simulate -f`."""
    import yaml

    from steersman.api import codec
    from steersman.base import InputError

    try:
        with Path(path).open("w", encoding="utf-8") as file:
            yaml.safe_dump_all(map(codec.to_dict, objects), file, sort_keys=False)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from error


def _lines(answer: PlanAnswer, explanations: Sequence[PodExplanation], width: int | None) -> Iterator[str]:
    from steersman.base import wrapped
    from steersman.base.report import Table, Text

    for section in answer.sections():
        if isinstance(section, Table) and section.rows:
            yield from _table(section, width)
            yield ""
        elif isinstance(section, Text):
            for line in section.text.splitlines():
                yield from wrapped(line, width)
            yield ""
    for text in answer_texts(explanations, MAX_NODES, width, answer.notes):
        yield text
        yield ""
    yield from wrapped(answer.sentence(), width)


def _table(table: Table, width: int | None) -> Iterator[str]:
    from steersman.base import aligned

    header = [_title(column).upper() for column in table.columns]
    shown = [[_cell(cell) for cell in row] for row in table.rows[:MAX_TABLE_ROWS]]
    yield from aligned([header, *shown], None, width)
    left = len(table.rows) - len(shown)
    if left:
        yield f"({left} more; -o json and -o csv have all)"


def _title(column: Column | str) -> str:
    return column if isinstance(column, str) else column.title


def _cell(cell: Cell) -> str:
    if cell is None:
        return "-"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _csv(answer: PlanAnswer) -> str:
    rows = answer.rows()
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["nothing"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
