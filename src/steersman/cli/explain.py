# SPDX-License-Identifier: Apache-2.0
"""`steersman explain`: why a pod of a live cluster is where it is, or nowhere. Reads, and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from steersman.cli.connecting import asked, cluster_options
from steersman.cli.output import say, say_json, say_yaml
from steersman.cli.terminal import terminal_width

if TYPE_CHECKING:
    from steersman.client import ChosenCluster, Transport
    from steersman.live import LiveExplanation

#: Of a table in the text.
MOST_ROWS: Final = 30


@click.command()
@click.argument("pod")
@click.option("-n", "--namespace", default="", metavar="NAMESPACE", help="Of the pod; else the context's.")
@cluster_options
@click.option("--all-nodes", is_flag=True, help="Show every node in the text, not only the best and the reasons.")
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
def explain(
    pod: str,
    namespace: str,
    kubeconfig: str,
    context: str,
    master: str,
    config_file: str,
    plugins: tuple[str, ...],
    feature_gates: str,
    all_nodes: bool,
    output: str,
) -> None:
    """Say what every node and every plugin think of a pod of a live cluster, now.

    POD is NAME or NAMESPACE/NAME. A pod that has a node is looked at as if it had none: where would it go, and does its node
    still win? A pending one: why, what preemption would do, and which events would have it tried again. With the
    scheduler's own --config and --plugin the answer is that scheduler's.
    """
    from steersman.app import RunOptions, effective
    from steersman.client import ClusterChoice
    from steersman.live import explain_pod

    settings = effective(RunOptions(config_file=config_file, plugin_files=plugins, feature_gates=feature_gates))
    space, _, name = pod.rpartition("/")

    async def question(transport: Transport, cluster: ChosenCluster) -> LiveExplanation:
        chosen = space or namespace or cluster.namespace
        return await explain_pod(transport, settings, cluster.connection.server, chosen, name)

    explained = asked(ClusterChoice(kubeconfig, context, master), question)
    if output == "text":
        say(explained.text(None if all_nodes else MOST_ROWS, terminal_width()))
    elif output == "json":
        say_json(explained.to_dict())
    else:
        say_yaml(explained.to_dict())
