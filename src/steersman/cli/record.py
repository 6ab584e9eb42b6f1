# SPDX-License-Identifier: Apache-2.0
"""Records on the command line: `steersman replay` decides again what was recorded, `steersman
history` shows what happened to a pod or a node, and `simulate --record` writes a record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click

from steersman.cli.moments import seconds_of_record
from steersman.cli.output import ExitCode, say_answer, say_note, terminal_width
from steersman.cli.parameters import output_option, plugin_option, trust_option
from steersman.cli.progress import working

if TYPE_CHECKING:
    from steersman.record import DecisionBody, DecisionDifference, History, Replay
    from steersman.simulation import Simulation

MAX_DIFFERENCES: Final = 50
"""Maximum number of differences printed in a table; JSON contains all."""


def recording(simulation: Simulation, directory: str | None) -> AbstractContextManager[object]:
    """Record the simulation while the context is open, if a directory is given."""
    if directory is None:
        return nullcontext()
    from steersman.record import record_simulation

    return record_simulation(simulation, directory)


@click.command()
@click.argument("directory", type=click.Path(), metavar="DIR")
@click.option(
    "--config",
    "config_file",
    type=click.Path(),
    metavar="FILE",
    help="Decide with this KubeSchedulerConfiguration (v1) instead of the recorded one.",
)
@plugin_option(
    "A Python file with plugins: those of the record, which may then be run, or additional ones. May be repeated."
)
@trust_option
@click.option(
    "--extract", metavar="POD", help="Print the last attempt of this pod as a golden scenario, without comparing."
)
@click.option(
    "--attempt", type=click.IntRange(1), metavar="NUMBER", help="With --extract: this attempt instead of the last one."
)
@output_option("table", "json")
def replay(
    directory: str,
    config_file: str | None,
    plugins: tuple[str, ...],
    trusts_record: bool,
    extract: str | None,
    attempt: int | None,
    output: str,
) -> None:
    """Repeat all recorded decisions, and compare each one.

    `steersman simulate --record DIR` and `steersman run --record DIR` write records. Without
    options, all decisions and scores should be the same; with --config or another --plugin, the
    table shows the decisions made instead. Plugin files of a record are run only if you name them
    with --plugin (at their current path, if their content is the same), or with
    --trust-record-plugins.

    With --extract, an attempt becomes a test: `steersman conformance FILE` runs the output, one
    JSON document per line.

    Exits with 0 if all decisions that can be compared are the same, with 1 if not, with 2 if none
    can be compared.
    """
    if extract is not None:
        _print_scenario(directory, extract, attempt)
        return
    if attempt is not None:
        raise click.UsageError("--attempt says which attempt --extract is to print")
    from steersman.record import replay as replay_record

    with working("replaying"):
        found = replay_record(directory, configuration=config_file, plugins=plugins, trusts_record=trusts_record)
    for note in found.notes:
        say_note(note)
    say_answer(output, found.to_dict, lambda: "\n".join(_replay_lines(found, terminal_width())))
    if not found.is_same:
        click.get_current_context().exit(ExitCode.NO)
    if found.not_compared and found.not_compared == found.recorded:
        click.get_current_context().exit(ExitCode.BAD_INPUT)


@click.command()
@click.argument("directory", type=click.Path(), metavar="DIR")
@click.argument("name", metavar="POD|NODE", required=False)
@click.option(
    "--since",
    metavar="TIME",
    help="Start time: 14:05 (UTC), 2026-11-17T14:05:00Z, or 10m after the start of the record.",
)
@click.option("--until", metavar="TIME", help="End time.")
@click.option("--parquet", type=click.Path(), metavar="FILE", help="Write all decisions to this file instead.")
@output_option("table", "json")
def history(
    directory: str, name: str | None, since: str | None, until: str | None, parquet: str | None, output: str
) -> None:
    """Show what happened to a pod or on a node, from a record.

    Every attempt with its time, outcome and reason, bindings and preemptions. Times of a simulation are virtual, since its
    start; those of a live cluster are UTC. A pod is written NAMESPACE/NAME, or NAME in default; pod/… and node/… say which
    is meant.

    With --parquet all decisions of the record are written to a file, a row for each, for pandas, DuckDB and the like; that
    needs the extra `steersman[frames]`.
    """
    from steersman.record import decision_table, history as history_of

    if parquet is not None:
        if name is not None or since is not None or until is not None:
            raise click.UsageError("--parquet writes the whole record: leave the name, --since and --until out")
        decision_table(directory).to_parquet(parquet)
        return
    if name is None:
        raise click.UsageError("name a pod or a node, or a file with --parquet")
    first, last = seconds_of_record(directory, {"--since": since, "--until": until})
    found = history_of(directory, name, since=first, until=last)
    for problem in found.problems:
        say_note(str(problem))
    say_answer(output, found.to_dict, lambda: "\n".join(_history_lines(found, terminal_width())))


def _print_scenario(directory: str, pod: str, attempt: int | None) -> None:
    import msgspec

    from steersman.testing.conformance import extract

    extracted = extract(directory, pod, attempt)
    for note in extracted.notes:
        say_note(note)
    click.echo(msgspec.json.encode(extracted.scenario))


def _replay_lines(found: Replay, width: int | None) -> Iterator[str]:
    from steersman.base import aligned, wrapped

    if found.differences:
        shown = found.differences[:MAX_DIFFERENCES]
        header = ("TIME", "POD", "DIFFERS", "RECORDED", "NOW")
        yield from aligned([header, *(_difference_row(one, found) for one in shown)], width=width)
        if len(shown) < len(found.differences):
            yield f"({len(found.differences) - len(shown)} more; -o json has all)"
        yield ""
    others = sum(1 for one in found.differences if one.recorded is None)
    more = f", {others} more were made" if others else ""
    left_out = f"; {found.not_compared} more could not be compared" if found.not_compared else ""
    compared = found.recorded - found.not_compared
    yield from wrapped(f"{found.same} of {compared} decisions are the same{more}{left_out}", width)


def _time_text(found: Replay | History, at: float) -> str:
    """Return a time of a record: of a simulation since its start, of a live cluster as wall-clock
    time."""
    from steersman.base import duration_text

    if found.host != "simulate":
        return datetime.fromtimestamp(at, UTC).strftime("%m-%d %H:%M:%S")
    return duration_text(round(at - found.start, 6), 6)


def _difference_row(difference: DecisionDifference, found: Replay) -> tuple[str, ...]:
    some = difference.recorded or difference.decided
    at = "" if some is None else _time_text(found, some.at)
    attempt = f" (attempt {difference.attempt})" if difference.attempt > 1 else ""
    was, now = (_decision_text(each, difference.differs) for each in (difference.recorded, difference.decided))
    return at, f"{difference.pod}{attempt}", difference.differs, was, now


def _decision_text(decision: DecisionBody | None, differs: str) -> str:
    """Return a decision for a cell of the table of differences: the part named by `differs`."""
    if decision is None:
        return "-"
    shown = {
        "scores": f"total {decision.total}, {decision.digest[:8]}",
        "time": f"{decision.at:.6f}",
        "order": decision.pod,
        "pod": f"{decision.uid}, attempt {decision.attempt}",
        "message": decision.message.partition(". ")[0],
        "preemption": f"{decision.nominated_node} without {', '.join(decision.victims)}"
        if decision.victims
        else "none",
    }
    return shown.get(differs) or decision.node or decision.outcome


def _history_lines(found: History, width: int | None) -> Iterator[str]:
    from steersman.base import aligned

    is_node = found.subject.startswith("node/")
    yield found.subject
    rows = [("TIME", "EVENT", "POD" if is_node else "NODE", "WHY")]
    for entry in found.entries:
        event = f"{entry.event} (attempt {entry.attempt})" if entry.attempt > 1 else entry.event
        rows.append(
            (
                _time_text(found, found.start + entry.at),
                event,
                (entry.pod if is_node else entry.node) or "-",
                entry.message,
            )
        )
    yield from aligned(rows, width=width)
    if found.since:
        yield f"(the record begins at {_time_text(found, found.start + found.since)})"
