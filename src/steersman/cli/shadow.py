# SPDX-License-Identifier: Apache-2.0
"""`steersman shadow`: follows a live cluster, and compares its decisions with the scheduler's.
Read-only."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from steersman.base import printable
from steersman.cli.live_cluster import cluster_options, effective_settings
from steersman.cli.output import ExitCode, log_to_terminal, require_unix, say, say_answer, terminal_width
from steersman.cli.parameters import output_option, parse_seconds
from steersman.cli.progress import working
from steersman.cli.report_file import command_line, report_option, write_report

if TYPE_CHECKING:
    from steersman.kube.client import ChosenCluster
    from steersman.run.app import EffectiveSettings
    from steersman.run.shadow import DecisionComparison, DifferenceWriter, ShadowOptions, ShadowScreen, ShadowSummary

LINE_SECONDS: Final = 10.0
"""Interval of progress lines without a terminal."""


@click.command()
@cluster_options
@click.option(
    "--scheduler-name",
    default="",
    metavar="NAME",
    help="The other scheduler, as pods name it. Default: those of --config, else default-scheduler.",
)
@click.option(
    "--duration", callback=parse_seconds, metavar="DURATION", help="Time after which to end. Default: at Ctrl-C."
)
@click.option("--decisions", type=click.IntRange(1), metavar="NUMBER", help="End after this number of decisions.")
@click.option(
    "--hold",
    callback=parse_seconds,
    default="1s",
    show_default=True,
    metavar="DURATION",
    help="Time between a decision and its review: events that arrive in between may explain it.",
)
@click.option(
    "--differences",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Write a directory for each of the first real disagreements, with the state that repeats it.",
)
@click.option(
    "--metrics-address",
    default="",
    metavar="HOST:PORT",
    help="Serve /metrics, /healthz and /readyz there, over HTTP without authentication. Default: not served.",
)
@report_option
@output_option("text", "json", "yaml", "jsonl", text="jsonl: every comparison as a line, as soon as it is made.")
def shadow(**given: Any) -> None:
    """Repeat the decisions of another scheduler, and compare. Nothing is written to the cluster.

    A decision is the same, a tie, explained by sampling (nodes that the other scheduler did not
    evaluate) or by timing (events that it saw earlier or later), or a real disagreement; the
    evidence is printed. Give the other scheduler's --config if it has one. Exits with 1 if there
    was a real disagreement.
    """
    require_unix("shadow")
    follow_cluster(given)


def follow_cluster(given: dict[str, Any]) -> None:
    """Run a shadow with the options of the command, and end the command."""
    import os

    from steersman.kube.client import ClusterChoice, connect
    from steersman.run.shadow import DifferenceWriter

    options = _options(given)
    settings = _named(effective_settings(given), given["scheduler_name"])
    chosen = given["kubeconfig"] or settings.configuration.client_connection.kubeconfig
    cluster = connect(ClusterChoice(chosen, given["context"], given["master"]), os.environ)
    folder = given["differences"]
    writer = DifferenceWriter(Path(folder), settings.configuration) if folder else None
    log_to_terminal("steersman")
    with _screen(given["output"], cluster.connection.server) as screen:
        summary = asyncio.run(_follow(cluster, settings, options, screen, writer))
    if given["output"] != "jsonl":
        say_answer(given["output"], summary.to_dict, lambda: summary.text(terminal_width()))
    if given["report_file"]:
        from steersman.run.shadow import shadow_report

        write_report(shadow_report(summary, [command_line()], _notes(settings)), given["report_file"])
    click.get_current_context().exit(ExitCode.NO if summary.disagreements else ExitCode.YES)


def _options(given: dict[str, Any]) -> ShadowOptions:
    from steersman.run.shadow import ShadowOptions

    host, port = _address(given["metrics_address"])
    return ShadowOptions(given["hold"], given["duration"], given["decisions"], host, port)


def _address(text: str) -> tuple[str, int]:
    if not text:
        return "", 0
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise click.BadParameter(f"{text!r} is not HOST:PORT; use for example 127.0.0.1:10260")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _named(settings: EffectiveSettings, name: str) -> EffectiveSettings:
    """Return the settings with the profile of this name: the one in the configuration, or the only
    profile renamed."""
    import msgspec

    from steersman.base import InputError

    profiles = settings.configuration.profiles
    if not name:
        return settings
    found = [profile for profile in profiles if profile.scheduler_name == name]
    if not found and len(profiles) > 1:
        names = ", ".join(profile.scheduler_name for profile in profiles)
        raise InputError(f"is none of the profiles of the configuration: {names}", field="--scheduler-name", value=name)
    profile = found[0] if found else msgspec.structs.replace(profiles[0], scheduler_name=name)
    configuration = msgspec.structs.replace(settings.configuration, profiles=(profile,))
    return msgspec.structs.replace(settings, configuration=configuration)


async def _follow(
    cluster: ChosenCluster,
    settings: EffectiveSettings,
    options: ShadowOptions,
    screen: ShadowScreen,
    writer: DifferenceWriter | None,
) -> ShadowSummary:
    """Follow the cluster until SIGINT or SIGTERM, or for the duration in the options."""
    from steersman.base import Timing
    from steersman.kube.client import http_transport
    from steersman.run.app import ENDING, signals_handled
    from steersman.run.shadow import Shadow

    stop = asyncio.Event()
    with signals_handled(dict.fromkeys(ENDING, stop.set)):
        async with http_transport(cluster.connection) as transport:
            program = Shadow(settings, options, transport, Timing(), cluster.connection.server, screen, writer)
            await program.check_rights()
            return await program.run(stop)


@contextmanager
def _screen(output: str, server: str) -> Iterator[ShadowScreen]:
    from steersman.run.shadow import ShadowScreen

    with working(f"following {server}") as show:
        yield ShadowScreen(
            lambda nodes, pods: say(f"beside {server}: {nodes:,} nodes, {pods:,} pods", err=True),
            _compared(output),
            _progress(show),
        )


def _compared(output: str) -> Callable[[DecisionComparison], None]:
    """Return a function that prints disagreements as they are found, or every comparison as JSON
    lines."""
    from steersman.run.shadow import EXPLAINED, comparison_line

    def tell(comparison: DecisionComparison) -> None:
        if output == "jsonl":
            click.echo(comparison_line(comparison))
        elif comparison.comparison_class not in EXPLAINED:
            say(printable(comparison.line()), err=True)

    return tell


def _progress(show: Callable[[str], None]) -> Callable[[ShadowSummary], None]:
    """Return a function that shows progress: one changing line on a terminal, occasional lines
    elsewhere."""
    last, printed = time.monotonic(), ""

    def show_progress(summary: ShadowSummary) -> None:
        nonlocal last, printed
        if sys.stderr.isatty():
            show(summary.line())
        elif time.monotonic() - last >= LINE_SECONDS and summary.line() != printed:
            last, printed = time.monotonic(), summary.line()
            say(printed, err=True)

    return show_progress


def _notes(settings: EffectiveSettings) -> list[str]:
    from steersman.base import hide_passwords

    extenders = settings.configuration.extenders
    if not extenders:
        return []
    return [f"Extenders were not called: {', '.join(hide_passwords(one.url_prefix) for one in extenders)}."]
