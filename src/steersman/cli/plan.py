# SPDX-License-Identifier: Apache-2.0
"""`steersman plan …`: questions about a cluster, answered without touching it. A command per question of `steersman.plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from steersman.cli.output import SummaryGroup
from steersman.cli.parameters import chosen_validation
from steersman.cli.plan_compare import compare
from steersman.cli.plan_inputs import example_of, load_simulation, plan_options, planned, sources_of, stdin_of
from steersman.cli.plan_output import Explainer, conclude, write_manifests
from steersman.cli.progress import working
from steersman.cli.report_file import writable_file
from steersman.errors import InputError

if TYPE_CHECKING:
    from steersman import api


@click.group(cls=SummaryGroup, subcommand_metavar="QUESTION [ARGS]...")
def plan() -> None:
    """Ask what fits, what if, how many: answered by the scheduler itself, on a copy of the cluster.

    The cluster comes from manifests, from a dump such as `kubectl get nodes,pods,… -A -o json`, or from a live cluster
    (--kubeconfig), which is only read. The same input and seed give the same answer.

    Exits with 0 if the answer is yes (it fits), with 1 if it is no, with 2 for input that cannot be used.
    """


@plan.command()
@click.option(
    "--pod",
    "pods",
    multiple=True,
    required=True,
    metavar="FILE[:WEIGHT]",
    help="A file with a Pod, or with a Deployment or the like, whose template is taken. Several make a mix.",
)
@click.option(
    "--preemption", is_flag=True, help="Also: how many fit if pods of lower priority may be preempted. Slower."
)
@click.option(
    "--at-least", type=click.IntRange(0), default=1, show_default=True, help="Exit with 1 if fewer pods than this fit."
)
@plan_options
def capacity(pods: tuple[str, ...], preemption: bool, at_least: int, **given: Any) -> None:
    """How many more of these pods fit, what limits it and where.

    Pods of the cluster that wait are placed first. Then the pods come one after the other, those of a mix in turn by weight,
    until one does not fit: exactly as many as `steersman simulate` places.
    """
    from steersman import plan as questions
    from steersman.plan.pod_templates import load_pods, parse_weight

    templates = [load_pods(*parse_weight(pod)) for pod in pods]
    explainer = Explainer(given["explain"])
    with planned(given) as simulation, working("filling the cluster"):
        answer = questions.capacity(
            simulation,
            templates,
            preemption=preemption,
            at_least=at_least,
            on_end=explainer if given["explain"] else None,
        )
    conclude(answer, given, explainer.explanations)


@plan.command()
@click.argument("nodes", nargs=-1, required=True, metavar="NODE|SELECTOR|pool/NAME...")
@click.option(
    "--one-by-one", is_flag=True, help="A rolling replacement: drain a node, put a new one in its place, go on."
)
@plan_options
def drain(nodes: tuple[str, ...], one_by_one: bool, **given: Any) -> None:
    """Where pods go if nodes are drained, and what stands in the way.

    Nodes are names, label selectors and pool/NAME. Pods are evicted as `kubectl drain` does, in as many rounds as budgets make
    it take; controllers replace them. Pods that controllers recreate have new names: they are told by the old ones.
    """
    from steersman import plan as questions

    explainer = Explainer(given["explain"])
    with planned(given) as simulation, working("draining a copy"):
        answer = questions.drain(simulation, nodes, one_by_one=one_by_one, on_end=explainer)
    conclude(answer, given, explainer.explanations)


@plan.command()
@click.argument("nodes", nargs=-1, required=True, metavar="NODE|SELECTOR|pool/NAME...")
@plan_options
def lose(nodes: tuple[str, ...], **given: Any) -> None:
    """Where pods go if nodes, a zone or a pool are gone.

    Nodes are names, label selectors such as topology.kubernetes.io/zone=a, and pool/NAME. They go all at once, and nobody asks
    budgets. Pods without a controller are lost.
    """
    from steersman import plan as questions

    explainer = Explainer(given["explain"])
    with planned(given) as simulation, working("losing nodes of a copy"):
        answer = questions.lose(simulation, nodes, on_end=explainer)
    conclude(answer, given, explainer.explanations)


@plan.command()
@click.argument("arguments", nargs=-1, required=True, metavar="NODE|SELECTOR|pool/NAME... KEY=VALUE:EFFECT...")
@plan_options
def taint(arguments: tuple[str, ...], **given: Any) -> None:
    """Where pods go if nodes get a taint.

    Nodes are names, label selectors and pool/NAME; taints are KEY=VALUE:EFFECT or KEY:EFFECT, as kubectl takes them. NoExecute
    evicts pods that do not tolerate it, without asking budgets; other effects move nobody.
    """
    from steersman import plan as questions

    nodes = [argument for argument in arguments if ":" not in argument]
    taints = [argument for argument in arguments if ":" in argument]
    explainer = Explainer(given["explain"])
    with planned(given) as simulation, working("tainting nodes of a copy"):
        answer = questions.taint(simulation, nodes, taints, on_end=explainer)
    conclude(answer, given, explainer.explanations)


@plan.command()
@click.option("--budget", type=click.IntRange(0), default=20, show_default=True, metavar="N", help="Moves, at most.")
@click.option(
    "--for",
    "pods",
    multiple=True,
    metavar="POD",
    help="Make this pending pod fit, and empty no nodes. May be repeated.",
)
@plan_options
def compact(budget: int, pods: tuple[str, ...], **given: Any) -> None:
    """Which moves, in an order that budgets allow, make pending pods fit or empty nodes.

    A move is an eviction: the pod's controller makes another one, which the scheduler places. Every move is tried on a copy,
    and counts only if nobody is pending or preempted because of it.
    """
    from steersman import plan as questions

    explainer = Explainer(given["explain"])
    with planned(given) as simulation, working("trying moves on copies"):
        answer = questions.compact(simulation, budget=budget, pods=pods or None, on_end=explainer)
    conclude(answer, given, explainer.explanations)


@plan.command()
@click.option(
    "--usage", "usage_file", required=True, type=click.Path(), metavar="FILE", help="A CSV of krr or Prometheus."
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="WHAT=TITLE",
    help="What a column of the file is called: namespace, pod, workload, kind, container, cpu or memory.",
)
@click.option(
    "--percentile",
    type=float,
    default=100.0,
    show_default=True,
    help="Of several rows of a container; 100: the greatest.",
)
@click.option("--headroom", type=float, default=0.0, show_default=True, metavar="PERCENT", help="Ask for so much more.")
@click.option("--reschedule", is_flag=True, help="Place every pod anew, those that are on nodes too.")
@plan_options
def requests(
    usage_file: str, columns: tuple[str, ...], percentile: float, headroom: float, reschedule: bool, **given: Any
) -> None:
    """What changes if pods asked for what they use.

    The file has a row per container of a pod (namespace, pod, container, cpu, memory) or of a workload, as krr writes it.
    Amounts are quantities, or plain numbers: cores and bytes. Pods that the file leaves out are named.
    """
    from steersman import plan as questions

    usage = questions.load_usage(usage_file, percentile=percentile, columns=_titles(columns))
    example = example_of(given)
    explainer = Explainer(given["explain"])
    with working("asking for what is used"):
        answer = questions.requests(
            sources_of(given, example),
            usage,
            load=lambda objects: load_simulation(given, example, objects),
            headroom=headroom,
            reschedule=reschedule,
            stdin=stdin_of(given),
            validate=chosen_validation(given["validate"], given["strict"]),
            on_end=explainer,
        )
    conclude(answer, given, explainer.explanations)


@plan.command()
@click.option(
    "--pools", "pools_file", required=True, type=click.Path(), metavar="FILE", help="A document of kind NodePools."
)
@click.option("--remove", is_flag=True, help="Existing nodes of the pools may go too.")
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Placements of all pods that the search tries.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="End the search after so long; the answer then depends on the machine.",
)
@click.option(
    "--nodes-file",
    type=click.Path(),
    metavar="FILE",
    callback=writable_file,
    help="Also write the new nodes as manifests, for `simulate -f`.",
)
@plan_options
def nodes(
    pools_file: str, remove: bool, trials: int, time_limit: float | None, nodes_file: str | None, **given: Any
) -> None:
    """How many nodes of which pool to add, so that everything fits at the least cost.

    The plan is simulated: it leaves nothing pending but pods that fit on no node at all. Beside its cost stands a lower bound,
    proven by an integer program: no plan costs less. The bound needs pip install 'steersman[plan]'.
    """
    from steersman import plan as questions

    explainer = Explainer(given["explain"])
    new: list[api.Node] = []
    with planned(given) as simulation, working("searching for nodes"):
        answer = questions.nodes(
            simulation,
            pools_file,
            remove=remove,
            trials=trials,
            time_limit=time_limit,
            on_end=explainer,
            on_nodes=new.extend,
        )
    if nodes_file is not None:
        write_manifests(new, nodes_file)
    conclude(answer, given, explainer.explanations)


def _titles(columns: tuple[str, ...]) -> dict[str, str]:
    from steersman.plan.usage import COLUMNS

    pairs = [text.partition("=") for text in columns]
    for (what, equals, title), text in zip(pairs, columns, strict=True):
        if what not in COLUMNS or not equals or not title:
            hint = f"write WHAT=TITLE, where WHAT is one of {', '.join(COLUMNS)}"
            raise InputError("names no column", object="--column", value=text, hint=hint)
    return {what: title for what, _, title in pairs}


plan.add_command(compare)
