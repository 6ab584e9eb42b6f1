# SPDX-License-Identifier: Apache-2.0
"""`steersman doctor`: checks whether a cluster is ready for Steersman."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from steersman.cli.live_cluster import cluster_options, run_on_cluster
from steersman.cli.output import ExitCode, say_answer, terminal_width
from steersman.cli.parameters import output_option
from steersman.cli.run import checked_command_line

if TYPE_CHECKING:
    from steersman.kube.client import ChosenCluster, Transport
    from steersman.run.app import EffectiveSettings, RunOptions
    from steersman.run.doctor import Examination, Finding
    from steersman.scheduler.assembly import SchedulerKinds


@click.command()
@cluster_options
@click.option(
    "--as",
    "subject",
    default="",
    metavar="USER",
    help="Check this user, for example system:serviceaccount:NAMESPACE:NAME.",
)
@output_option("text", "json", text=None)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED, metavar="[-- FLAGS…]")
def doctor(
    kubeconfig: str,
    context: str,
    master: str,
    config_file: str,
    plugins: tuple[str, ...],
    feature_gates: str,
    emulated_version: str,
    subject: str,
    output: str,
    flags: tuple[str, ...],
) -> None:
    """Check permissions, API versions, clocks, leases, and other schedulers of a live cluster.

    Every line is ok, warn or fail, with a remedy. Exits with 1 if anything failed. Only reads;
    permissions are checked by access reviews. FLAGS are the flags of `steersman run`, or of
    kube-scheduler: they are checked too, and so is what they configure.
    """
    from steersman.base import RealClock
    from steersman.kube.client import ClusterChoice
    from steersman.run.doctor import DoctorTarget, examine

    command_line, refused = checked_command_line(flags)
    own = {"config_file": config_file, "plugin_files": plugins, "feature_gates": feature_gates}
    own["emulated_version"] = emulated_version
    scheduler, kinds, fault = _scheduler(_with_own_options(command_line, own))
    configuration, version = scheduler.configuration, scheduler.gates.version

    async def question(transport: Transport, cluster: ChosenCluster) -> Examination:
        target = DoctorTarget(transport, configuration, RealClock(), subject, kinds.watched, kinds.read, version)
        findings = _flag_findings(command_line, refused) if flags else ()
        return await examine(target, cluster.connection.server, fault, tuple(findings))

    given = command_line.kubeconfig if command_line else ""
    chosen = kubeconfig or given or configuration.client_connection.kubeconfig
    report = run_on_cluster(
        ClusterChoice(chosen, context, master or (command_line.master if command_line else "")), question
    )
    say_answer(output, report.to_dict, lambda: report.text(terminal_width()))
    click.get_current_context().exit(ExitCode.NO if report.has_failed else ExitCode.YES)


def _with_own_options(command_line: RunOptions | None, own: dict[str, Any]) -> RunOptions:
    """Return the options of the examined command line, overridden by those of `doctor` itself."""
    import msgspec

    from steersman.run.app import RunOptions

    return msgspec.structs.replace(
        command_line or RunOptions(), **{name: value for name, value in own.items() if value}
    )


def _flag_findings(command_line: RunOptions | None, refused: list[str]) -> Iterator[Finding]:
    from steersman.run.doctor import fail, ok, warn

    yield from (fail("flags", line, "`steersman run` does not start with it: correct or remove it") for line in refused)
    ignored = command_line.ignored_flags if command_line else ()
    yield from (warn("flags", line, "nothing is lost; remove it to be rid of the warning") for line in ignored)
    if not refused and not ignored:
        yield ok("flags", "the command line can be used")


def _scheduler(options: RunOptions) -> tuple[EffectiveSettings, SchedulerKinds, str]:
    """Return the settings, the kinds that the scheduler uses, and the error that replaced them by
    the defaults."""
    from steersman.base import SteersmanError
    from steersman.run.app import RunOptions, effective
    from steersman.scheduler.assembly import kinds_of_scheduler
    from steersman.simulation import check_plugins

    fault = ""
    try:
        given = effective(options)
        kinds = kinds_of_scheduler(given.configuration, given.gates, given.registry)
        check_plugins(given.configuration, given.gates, given.registry)
    except SteersmanError as error:
        given, fault = effective(RunOptions()), str(error)
        kinds = kinds_of_scheduler(given.configuration, given.gates, given.registry)
    return given, kinds, fault
