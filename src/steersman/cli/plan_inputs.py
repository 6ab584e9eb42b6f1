# SPDX-License-Identifier: Apache-2.0
"""What every `steersman plan …` command takes: files or a live cluster, which is only read, and what the scheduler is like.

`plan_options` adds the options to a command, which hands their values to `planned`: a context with the simulation.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from steersman.cli.connecting import asked, is_run_by_kubectl
from steersman.cli.examples import ExampleFiles, complete_example, files_of
from steersman.cli.parameters import (
    MANIFESTS,
    CommandT,
    Given,
    chosen_validation,
    extenders_option,
    filename_option,
    parse_gates,
    plugin_option,
    validation_options,
    with_options,
)
from steersman.cli.progress import working
from steersman.cli.report_file import report_option

if TYPE_CHECKING:
    from steersman import api
    from steersman.client import ChosenCluster, Transport
    from steersman.sim import Simulation

CONFIG: Final = "A KubeSchedulerConfiguration (v1)."
config_option = click.option("--config", "config_file", type=click.Path(), metavar="FILE", help=CONFIG)

_LIVE: Final = (
    click.option(
        "--kubeconfig",
        default="",
        type=click.Path(),
        metavar="FILE",
        help="Read the cluster of this kubeconfig. Nothing is written to it.",
    ),
    click.option("--context", default="", metavar="NAME", help="Read the cluster of this context of the kubeconfig."),
)


def live_options(command: CommandT) -> CommandT:
    """The options of a command that can read a live cluster instead of files."""
    return with_options(command, _LIVE)


_INPUTS: Final = (
    filename_option(MANIFESTS),
    click.option(
        "--example",
        metavar="NAME",
        shell_complete=complete_example,
        help="One of `steersman examples`, with its plugins and its configuration.",
    ),
    live_options,
    plugin_option("A Python file with plugins. May be repeated."),
    click.option("--feature-gates", metavar="A=true,B=false", help="Feature gates, as kube-scheduler takes them."),
    extenders_option,
    validation_options,
    click.option("--seed", type=int, default=0, show_default=True, help="Decides among equally good nodes."),
    click.option(
        "--kubelet-policy",
        type=click.Path(),
        metavar="FILE",
        help="A KubeletPolicy: how long pods start and run, which fail, and the like.",
    ),
)
_OUTPUTS: Final = (
    click.option(
        "-o",
        "--output",
        type=click.Choice(["table", "json", "yaml", "csv"]),
        default="table",
        show_default=True,
        help="Format of the answer.",
    ),
    report_option,
)
_EXPLAIN: Final = click.option(
    "--explain",
    multiple=True,
    metavar="POD",
    help="Print what nodes and plugins say of the pod NAMESPACE/NAME (or NAME in default). May be repeated.",
)


def plan_options(command: CommandT) -> CommandT:
    """The options of a command that asks about one cluster and one configuration."""
    return with_options(command, (*_INPUTS, config_option, *_OUTPUTS, _EXPLAIN))


def plan_options_without_config(command: CommandT) -> CommandT:
    """The options of a command that has several configurations, and explains no pod of any of them."""
    return with_options(command, (*_INPUTS, *_OUTPUTS))


@contextmanager
def planned(given: Given) -> Iterator[Simulation]:
    """The simulation of the cluster that the options name."""
    example = example_of(given)
    with working("loading"):
        loaded = load_simulation(given, example, sources_of(given, example))
    with loaded as simulation:
        yield simulation


def example_of(given: Given) -> ExampleFiles:
    return files_of(given["example"]) if given["example"] else ExampleFiles([], [], None)


def load_simulation(given: Given, example: ExampleFiles, sources: Sequence[Any]) -> Simulation:
    """A simulation of these paths and objects, with the scheduler that the options name."""
    from steersman.sim import Simulation

    return Simulation.load(
        *sources,
        config=given["config_file"] or example.configuration,
        seed=given["seed"],
        plugins=(*example.plugins, *given["plugins"]),
        gates=parse_gates(given["feature_gates"]),
        stdin=stdin_of(given),
        validate=chosen_validation(given["validate"], given["strict"]),
        kubelets=given["kubelet_policy"],
        extenders=given["extenders"],
    )


def stdin_of(given: Given) -> BinaryIO | None:
    """Standard input, if it is among the files."""
    return sys.stdin.buffer if "-" in given["files"] else None


def sources_of(given: Given, example: ExampleFiles) -> list[Any]:
    """Paths and objects of the cluster; of a live one what was read from it."""
    has_files = bool(given["files"] or given["example"])
    is_live = bool(given["kubeconfig"] or given["context"]) or (is_run_by_kubectl() and not has_files)
    if not (has_files or is_live):
        raise click.UsageError("Missing option '-f' / '--filename', '--example' or '--kubeconfig'.")
    live = read_cluster(given["kubeconfig"], given["context"]) if is_live else []
    return [*live, *example.manifests, *given["files"]]


def read_cluster(kubeconfig: str, context: str) -> list[api.Object]:
    """Everything of a live cluster that scheduling and controllers look at, listed once."""
    from steersman.client import ClusterChoice, Timing
    from steersman.live import PLANNED_KINDS, read

    async def question(transport: Transport, cluster: ChosenCluster) -> list[api.Object]:
        found = await read(transport, Timing(), cluster.connection.server, PLANNED_KINDS)
        return [*found.objects, *found.pods.values()]

    return asked(ClusterChoice(kubeconfig, context, ""), question)
