# SPDX-License-Identifier: Apache-2.0
"""Options of commands that look at a live cluster, and how they reach it. Used by `explain` and `doctor`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from steersman.cli.parameters import CommandT, config_option, plugin_option, with_options
from steersman.cli.progress import working

if TYPE_CHECKING:
    from steersman.client import ChosenCluster, ClusterChoice, Transport
    from steersman.fixes import DocumentSource, ObjectName

T = TypeVar("T")

FROM_KUBECTL: Final = "kubectl"
"""The object of the root context when kubectl runs us as its plugin."""


def is_run_by_kubectl() -> bool:
    """Whether commands read the cluster that kubectl would, unless files are named."""
    runner: object = click.get_current_context().find_root().obj
    return runner == FROM_KUBECTL


def cluster_options(command: CommandT) -> CommandT:
    """`--kubeconfig`, `--context`, `--master`, and what the scheduler would be configured with."""
    return with_options(
        command,
        (
            click.option(
                "--kubeconfig", default="", type=click.Path(), metavar="FILE", help="How to reach the cluster."
            ),
            click.option("--context", default="", metavar="NAME", help="Context of the kubeconfig."),
            click.option("--master", default="", metavar="URL", help="Address of the API server."),
            config_option("The scheduler's configuration."),
            plugin_option("A Python file with plugins."),
            click.option(
                "--feature-gates", default="", metavar="A=true,B=false", help="The scheduler's feature gates."
            ),
        ),
    )


def asked(choice: ClusterChoice, question: Callable[[Transport, ChosenCluster], Awaitable[T]]) -> T:
    """The answer to a question that needs a connection to the chosen cluster."""
    import os

    from steersman.client import connect, http_transport

    cluster = connect(choice, os.environ)

    async def ask() -> T:
        async with http_transport(cluster.connection) as transport:
            return await question(transport, cluster)

    with working(f"asking {cluster.connection.server}"):
        return asyncio.run(ask())


def served_by(choice: ClusterChoice) -> DocumentSource:
    """Gives the objects that fixes are to change, whole, as the API server of the chosen cluster has them."""
    from steersman.live import served_documents

    def served(names: Collection[ObjectName]) -> Mapping[ObjectName, dict[str, Any]]:
        return asked(choice, lambda transport, cluster: served_documents(transport, cluster.connection.server, names))

    return served
