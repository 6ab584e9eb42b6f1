# SPDX-License-Identifier: Apache-2.0
"""The input of every `steersman plan …` command: files or a live cluster, which is only read, and
the scheduler's configuration.

`plan_options` adds the options to a command, which passes their values to `planned`, a context
manager with the simulation.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from steersman.cli.examples import ExampleFiles, example_option, files_of
from steersman.cli.live_cluster import is_run_by_kubectl, run_on_cluster
from steersman.cli.parameters import (
    MANIFESTS,
    SEED,
    CommandT,
    Given,
    chosen_validation,
    extenders_option,
    file_option,
    filename_option,
    gates_option,
    kubelet_policy_option,
    output_option,
    parse_gates,
    plugin_option,
    pods_to_explain_option,
    seed_option,
    validation_options,
    with_options,
)
from steersman.cli.progress import working
from steersman.cli.report_file import report_option

if TYPE_CHECKING:
    from steersman import api
    from steersman.config import FeatureGates
    from steersman.kube.client import ChosenCluster, Transport
    from steersman.simulation import ListedObjects, Simulation

CONFIG: Final = "A KubeSchedulerConfiguration (v1)."
scheduler_config_option = click.option("--config", "config_file", type=click.Path(), metavar="FILE", help=CONFIG)

_LIVE: Final = (
    file_option("--kubeconfig", "Read the cluster of this kubeconfig. Nothing is written to it."),
    click.option("--context", default="", metavar="NAME", help="Read the cluster of this context of the kubeconfig."),
)


def live_options(command: CommandT) -> CommandT:
    """Add the options of a command that can read a live cluster instead of files."""
    return with_options(command, _LIVE)


_INPUTS: Final = (
    filename_option(MANIFESTS),
    example_option("One of `steersman examples`, with its plugins and its configuration."),
    live_options,
    plugin_option("A Python file with plugins. May be repeated."),
    gates_option,
    extenders_option,
    validation_options,
    seed_option(SEED),
    kubelet_policy_option,
)
_OUTPUTS: Final = (
    output_option("table", "json", "yaml", "csv"),
    report_option,
)


def plan_options(command: CommandT) -> CommandT:
    """Add the options of a command about one cluster and one configuration."""
    return with_options(command, (*_INPUTS, scheduler_config_option, *_OUTPUTS, pods_to_explain_option))


def plan_options_without_config(command: CommandT) -> CommandT:
    """Add the options of a command that compares several configurations and explains no pods."""
    return with_options(command, (*_INPUTS, *_OUTPUTS))


@contextmanager
def planned(given: Given, nodes: Iterable[api.Node] = ()) -> Iterator[Simulation]:
    """Yield the simulation of the cluster selected by the options, with these nodes in addition."""
    example = example_of(given)
    sources = sources_of(given, example)
    with working("loading"):
        loaded = load_simulation(given, example, [*sources, nodes])
    with loaded as simulation:
        yield simulation


def example_of(given: Given) -> ExampleFiles:
    return files_of(given["example"]) if given["example"] else ExampleFiles([], [], None)


def load_simulation(given: Given, example: ExampleFiles, sources: Sequence[Any]) -> Simulation:
    """Return a simulation of these paths and objects, with the scheduler selected by the
    options."""
    from steersman.simulation import Simulation

    return Simulation.load(
        *sources,
        config=given["config_file"] or example.configuration,
        seed=given["seed"],
        plugins=(*example.plugins, *given["plugins"]),
        gates=example_gates(given, example),
        stdin=stdin_of(given),
        validate=chosen_validation(given),
        controllers=given.get("controllers", True),
        kubelets=given["kubelet_policy"],
        extenders=given["extenders"],
    )


def example_gates(given: Given, example: ExampleFiles, own: str = "") -> FeatureGates:
    """Return the feature gates of the example, the command and one variant; later ones override."""
    texts = (example.feature_gates, given["feature_gates"], own)
    return parse_gates(",".join(filter(None, texts)), given["emulated_version"] or example.emulated_version)


def stdin_of(given: Given) -> BinaryIO | None:
    """Return standard input if it is among the files."""
    return sys.stdin.buffer if "-" in given["files"] else None


def sources_of(given: Given, example: ExampleFiles) -> list[Any]:
    """Return the paths and objects of the cluster; for a live one, the objects read from it."""
    if not (is_live(given) or given["files"] or given["example"]):
        raise click.UsageError("Missing option '-f' / '--filename', '--example' or '--kubeconfig'.")
    live = read_cluster(given["kubeconfig"], given["context"]) if is_live(given) else []
    return [live, *example.manifests, *given["files"]]


def is_live(given: Given) -> bool:
    """Return whether the options select a live cluster, alone or besides files."""
    has_files = bool(given["files"] or given["example"])
    return bool(given["kubeconfig"] or given["context"]) or (is_run_by_kubectl() and not has_files)


def read_cluster(kubeconfig: str, context: str) -> ListedObjects:
    """List everything of a live cluster that scheduling and controllers use."""
    from steersman.base import Timing
    from steersman.explain.live import PLANNED_KINDS, read
    from steersman.kube.client import ClusterChoice
    from steersman.simulation import ListedObjects

    async def question(transport: Transport, cluster: ChosenCluster) -> ListedObjects:
        found = await read(transport, Timing(), cluster.connection.server, PLANNED_KINDS)
        return ListedObjects([*found.objects, *found.pods.values()])

    return run_on_cluster(ClusterChoice(kubeconfig, context, ""), question)
