# SPDX-License-Identifier: Apache-2.0
"""`steersman doctor`: is a cluster ready for Steersman, and is anybody in its way?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from steersman.cli.live_cluster import asked, cluster_options
from steersman.cli.output import say, say_json
from steersman.cli.terminal import terminal_width

if TYPE_CHECKING:
    from steersman.assembly.registry import SchedulerKinds
    from steersman.client import ChosenCluster, Transport
    from steersman.config import SchedulerConfiguration
    from steersman.doctor import Examination

NO: Final = 1
"""Exit code when something has to be done first."""


@click.command()
@cluster_options
@click.option("--as", "subject", default="", metavar="USER", help="Whose rights: system:serviceaccount:NAMESPACE:NAME.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def doctor(
    kubeconfig: str,
    context: str,
    master: str,
    config_file: str,
    plugins: tuple[str, ...],
    feature_gates: str,
    subject: str,
    output: str,
) -> None:
    """Check access rights, API versions, clocks, leases, and other schedulers of a live cluster.

    Every line is ok, warn or fail, with what to do. Exits with 1 if anything failed. Reads only; rights are asked about
    by access reviews.
    """
    from steersman.client import ClusterChoice
    from steersman.clock import RealClock
    from steersman.doctor import DoctorTarget, examine

    configuration, kinds, fault = _configuration(config_file, plugins, feature_gates)

    async def question(transport: Transport, cluster: ChosenCluster) -> Examination:
        target = DoctorTarget(transport, configuration, RealClock(), subject, kinds.watched, kinds.read)
        return await examine(target, cluster.connection.server, fault)

    chosen = kubeconfig or configuration.client_connection.kubeconfig
    report = asked(ClusterChoice(chosen, context, master), question)
    say(report.text(terminal_width())) if output == "text" else say_json(report.to_dict())
    click.get_current_context().exit(NO if report.has_failed else 0)


def _configuration(
    file: str, plugins: tuple[str, ...], gates: str
) -> tuple[SchedulerConfiguration, SchedulerKinds, str]:
    """The configuration with the kinds that the scheduler looks at, and why it cannot be used; then it is the default one."""
    from steersman.app import RunOptions, effective
    from steersman.assembly.registry import kinds_of_scheduler
    from steersman.errors import SteersmanError

    try:
        given = effective(RunOptions(config_file=file, plugin_files=plugins, feature_gates=gates))
        return given.configuration, kinds_of_scheduler(given.configuration, given.gates, given.registry), ""
    except SteersmanError as fault:
        default = effective(RunOptions())
        return (
            default.configuration,
            kinds_of_scheduler(default.configuration, default.gates, default.registry),
            str(fault),
        )
