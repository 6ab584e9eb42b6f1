# SPDX-License-Identifier: Apache-2.0
"""`steersman plan …`: read-only questions about a cluster. One command per question of
`steersman.plan`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from steersman.base import InputError
from steersman.cli.output import ExitCode, SummaryGroup, say_error
from steersman.cli.parameters import Given, chosen_validation
from steersman.cli.plan_compare import compare
from steersman.cli.plan_inputs import example_of, load_simulation, plan_options, planned, sources_of, stdin_of
from steersman.cli.plan_output import Explainer, conclude, write_manifests
from steersman.cli.progress import working
from steersman.cli.report_file import writable_file

if TYPE_CHECKING:
    from steersman import api
    from steersman.plan import PlanAnswer


@click.group(cls=SummaryGroup, subcommand_metavar="QUESTION [ARGS]...")
def plan() -> None:
    """Answer what-if questions with the scheduler itself, on a copy of the cluster.

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
    help="A file with a Pod, or with a workload whose template is used; or with the PodGroup of these pods too. Several "
    "make a mix.",
)
@click.option(
    "--preemption", is_flag=True, help="Also compute how many fit with preemption of lower priorities. Slower."
)
@click.option(
    "--at-least",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Exit with 1 if fewer pods or groups than this fit.",
)
@plan_options
def capacity(pods: tuple[str, ...], preemption: bool, at_least: int, **given: Any) -> None:
    """Show how many more of these pods fit, where, and what limits them.

    Pending pods of the cluster are placed first. Then pods are added one after the other, in turn
    by weight for a mix, until one does not fit: exactly the number that `steersman simulate`
    places. Nodes with a NoExecute taint that would evict the pods after their tolerationSeconds do
    not count. Pods of a PodGroup are counted by groups of minCount pods, with their topology domains.
    """
    from steersman import plan as questions
    from steersman.plan import load_pods, parse_weight

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
@click.option(
    "--at-a-time",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="With --one-by-one: replace N nodes together.",
)
@click.option("--keep-going", is_flag=True, help="With --one-by-one: go on after a node that cannot be emptied.")
@plan_options
def drain(nodes: tuple[str, ...], one_by_one: bool, at_a_time: int, keep_going: bool, **given: Any) -> None:
    """Show where pods go if nodes are drained, and what blocks the drain.

    Nodes are names, label selectors and pool/NAME. Pods are evicted as by `kubectl drain`, in
    rounds as disruption budgets allow; controllers replace them. Replacements have new names and
    are shown with the old ones.
    """
    from steersman import plan as questions

    if keep_going and not one_by_one and at_a_time == 1:
        raise click.UsageError("--keep-going is for --one-by-one and --at-a-time.")
    steps = {"one_by_one": one_by_one, "at_a_time": at_a_time, "keep_going": keep_going}
    _ask(given, "draining a copy", questions.drain, nodes, **steps)


@plan.command()
@click.argument("nodes", nargs=-1, required=True, metavar="NODE|SELECTOR|pool/NAME...")
@plan_options
def lose(nodes: tuple[str, ...], **given: Any) -> None:
    """Show where pods go if nodes, a zone or a pool fail.

    Nodes are names, label selectors such as topology.kubernetes.io/zone=a, and pool/NAME. They fail
    together, without regard to disruption budgets. Pods without a controller are lost.
    """
    from steersman import plan as questions

    _ask(given, "losing nodes of a copy", questions.lose, nodes)


@plan.command()
@click.argument("arguments", nargs=-1, required=True, metavar="NODE|SELECTOR|pool/NAME... KEY=VALUE:EFFECT...")
@plan_options
def taint(arguments: tuple[str, ...], **given: Any) -> None:
    """Show where pods go if nodes get a taint.

    Nodes are names, label selectors and pool/NAME; taints are KEY=VALUE:EFFECT or KEY:EFFECT, as in
    kubectl. NoExecute evicts pods that do not tolerate it, without regard to disruption budgets;
    other effects evict no pods.
    """
    from steersman import plan as questions

    nodes = [argument for argument in arguments if ":" not in argument]
    taints = [argument for argument in arguments if ":" in argument]
    _ask(given, "tainting nodes of a copy", questions.taint, nodes, taints)


@plan.command()
@click.option(
    "--budget", type=click.IntRange(0), default=20, show_default=True, metavar="N", help="Maximum number of moves."
)
@click.option(
    "--for",
    "pods",
    multiple=True,
    metavar="POD",
    help="Make this pending pod fit, without emptying nodes. May be repeated.",
)
@click.option(
    "--tries",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    metavar="N",
    help="Maximum number of failed attempts to empty nodes, and for each pending pod. Nodes without pods need none.",
)
@plan_options
def compact(budget: int, pods: tuple[str, ...], tries: int, **given: Any) -> None:
    """Find moves, in an order that budgets allow, that make pending pods fit or empty nodes.

    A move is an eviction: the pod's controller creates a replacement, which the scheduler places.
    Every move is tried on a copy, and counts only if it makes no pod pending and preempts none.
    """
    from steersman import plan as questions

    _ask(given, "trying moves on copies", questions.compact, budget=budget, pods=pods or None, tries=tries)


@plan.command()
@click.option(
    "--usage", "usage_file", required=True, type=click.Path(), metavar="FILE", help="A CSV file of krr or Prometheus."
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="WHAT=TITLE",
    help="Title of a column in the file for namespace, pod, workload, kind, container, cpu or memory.",
)
@click.option(
    "--percentile",
    type=float,
    default=100.0,
    show_default=True,
    help="Percentile over several rows of a container; 100: the maximum.",
)
@click.option(
    "--pod-percentile",
    type=float,
    default=100.0,
    show_default=True,
    help="Percentile over the pods of a workload, which all get the same requests; 100: the maximum.",
)
@click.option(
    "--headroom", type=float, default=0.0, show_default=True, metavar="PERCENT", help="Percentage to add to the usage."
)
@click.option("--reschedule", is_flag=True, help="Place every pod again, including pods that have a node.")
@plan_options
def requests(
    usage_file: str,
    columns: tuple[str, ...],
    percentile: float,
    pod_percentile: float,
    headroom: float,
    reschedule: bool,
    **given: Any,
) -> None:
    """Find requests that match the usage of pods, and show what they change.

    All pods of a workload get the same values, because they share a template. The file has a row
    per container of a pod (namespace, pod, container, cpu, memory) or of a workload, as krr writes
    it. Amounts are quantities, or plain numbers: cores and bytes. Pods that the file leaves out are
    named.
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
            pod_percentile=pod_percentile,
            reschedule=reschedule,
            stdin=stdin_of(given),
            validate=chosen_validation(given),
            on_end=explainer,
        )
    conclude(answer, given, explainer.explanations)


@plan.command()
@click.option(
    "--pools", "pools_file", required=True, type=click.Path(), metavar="FILE", help="A document of kind NodePools."
)
@click.option("--remove", is_flag=True, help="Allow removing existing nodes of the pools.")
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Maximum number of trial placements of all pods.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="End the search this long after the command began, with the best plan so far. The answer then depends on the machine. "
    "A first plan is always verified.",
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
    """Find the cheapest nodes to add so that everything fits.

    The plan is simulated: it leaves nothing pending but pods that fit on no node at all. Beside its cost stands a lower bound,
    proven by an integer program: no plan costs less. The bound needs pip install 'steersman[plan]'.
    """
    from steersman import plan as questions
    from steersman.plan import NoPlanInTime

    explainer, began = Explainer(given["explain"]), time.monotonic()
    new: list[api.Node] = []
    with planned(given) as simulation, working("searching for nodes") as show:

        def show_progress(share: float, cost: float | None) -> None:
            best = "" if cost is None else f", best so far {cost:g} per hour"
            show(f"{share:.0%} of the trials{best}")

        loaded = time.monotonic() - began
        try:
            answer = questions.nodes(
                simulation,
                pools_file,
                remove=remove,
                trials=trials,
                time_limit=None if time_limit is None else time_limit - loaded,
                on_end=explainer,
                on_nodes=new.extend,
                on_progress=show_progress,
            )
        except NoPlanInTime as error:
            say_error(f"loading took {loaded:.1f} s of the {time_limit:g} s of --time-limit: {error}")
            click.get_current_context().exit(ExitCode.NO)
    if nodes_file is not None:
        write_manifests(new, nodes_file)
    conclude(answer, given, explainer.explanations, interrupted=answer.is_interrupted)


def _ask(given: Given, doing: str, question: Callable[..., PlanAnswer], *arguments: Any, **options: Any) -> None:
    """Ask the question about the cluster that the options name, and print the answer."""
    explainer = Explainer(given["explain"])
    with planned(given) as simulation, working(doing):
        answer = question(simulation, *arguments, on_end=explainer, **options)
    conclude(answer, given, explainer.explanations)


def _titles(columns: tuple[str, ...]) -> dict[str, str]:
    from steersman.plan import COLUMNS

    pairs = [text.partition("=") for text in columns]
    for (what, equals, title), text in zip(pairs, columns, strict=True):
        if what not in COLUMNS or not equals or not title:
            hint = f"write WHAT=TITLE, where WHAT is one of {', '.join(COLUMNS)}"
            raise InputError("names no column", object="--column", value=text, hint=hint)
    return {what: title for what, _, title in pairs}


plan.add_command(compare)
