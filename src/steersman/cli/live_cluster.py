# SPDX-License-Identifier: Apache-2.0
"""Options of commands that read a live cluster, and its connection. Used by `explain` and
`doctor`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from steersman.cli.parameters import (
    CommandT,
    Given,
    config_option,
    file_option,
    plugin_option,
    version_option,
    with_options,
)
from steersman.cli.progress import working

if TYPE_CHECKING:
    from steersman.explain.fixes import DocumentSource, ObjectName
    from steersman.kube.client import ChosenCluster, ClusterChoice, Transport
    from steersman.run.app import EffectiveSettings

T = TypeVar("T")

FROM_KUBECTL: Final = "kubectl"
"""Object of the root context if kubectl runs this as its plugin."""


def is_run_by_kubectl() -> bool:
    """Return whether commands read kubectl's current cluster unless files are named."""
    runner: object = click.get_current_context().find_root().obj
    return runner == FROM_KUBECTL


def cluster_options(command: CommandT) -> CommandT:
    """Add `--kubeconfig`, `--context`, `--master`, and the options of the scheduler's
    configuration."""
    return with_options(
        command,
        (
            file_option("--kubeconfig", "Kubeconfig of the cluster."),
            click.option("--context", default="", metavar="NAME", help="Context of the kubeconfig."),
            click.option("--master", default="", metavar="URL", help="Address of the API server."),
            config_option("The scheduler's configuration."),
            plugin_option("A Python file with plugins."),
            click.option(
                "--feature-gates", default="", metavar="A=true,B=false", help="The scheduler's feature gates."
            ),
            version_option,
        ),
    )


def effective_settings(given: Given) -> EffectiveSettings:
    """Return the settings of the scheduler that `cluster_options` describe."""
    from steersman.run.app import RunOptions, effective

    return effective(
        RunOptions(
            config_file=given["config_file"],
            plugin_files=given["plugins"],
            feature_gates=given["feature_gates"],
            emulated_version=given["emulated_version"],
        )
    )


def run_on_cluster(choice: ClusterChoice, question: Callable[[Transport, ChosenCluster], Awaitable[T]]) -> T:
    """Run a function that needs a connection to the chosen cluster, and return its result."""
    import os

    from steersman.kube.client import connect, http_transport

    cluster = connect(choice, os.environ)

    async def ask() -> T:
        async with http_transport(cluster.connection) as transport:
            return await question(transport, cluster)

    with working(f"asking {cluster.connection.server}"):
        return asyncio.run(ask())


def cluster_documents(choice: ClusterChoice) -> DocumentSource:
    """Return a source of complete objects from the API server of the chosen cluster, for fixes to
    change."""
    from steersman.explain.live import served_documents

    def served(names: Collection[ObjectName]) -> Mapping[ObjectName, dict[str, Any]]:
        return run_on_cluster(
            choice, lambda transport, cluster: served_documents(transport, cluster.connection.server, names)
        )

    return served
