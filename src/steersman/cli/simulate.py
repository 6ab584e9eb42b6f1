# SPDX-License-Identifier: Apache-2.0
"""`steersman simulate`: simulates manifests and dumps, and prints the placements."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from steersman.cli.examples import check_can_be_simulated, example_option, scenario_of
from steersman.cli.explain import MAX_NODES
from steersman.cli.live_cluster import cluster_documents
from steersman.cli.output import ExitCode, say, say_answer, say_error, say_note, terminal_width
from steersman.cli.parameters import (
    MANIFESTS,
    SEED,
    Given,
    extenders_option,
    filename_option,
    gates_option,
    kubelet_policy_option,
    output_option,
    plugin_option,
    pods_to_explain_option,
    seed_option,
    until_option,
    validation_options,
)
from steersman.cli.plan_inputs import is_live, live_options, planned, scheduler_config_option
from steersman.cli.progress import progress_bar, working
from steersman.cli.record import recording
from steersman.cli.report_file import command_line, interactive_option, report_option, write_page, write_report

if TYPE_CHECKING:
    from steersman import api
    from steersman.explain import PodExplanation
    from steersman.explain.fixes import DocumentSource
    from steersman.sandbox.web import FilePage
    from steersman.simulation import Result, Simulation


@click.command()
@filename_option(MANIFESTS)
@example_option(
    "One of `steersman examples`, with its plugins and its configuration; -f, --plugin and --config add to it."
)
@live_options
@click.option(
    "--pools",
    "pools_file",
    type=click.Path(),
    metavar="FILE",
    help="NodePools: add the `min` nodes of each pool to the cluster.",
)
@click.option(
    "--scenario",
    type=click.Path(),
    metavar="FILE",
    help="A Scenario: events of a cluster over time. -f adds to its cluster, --config overrides its own.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="With --scenario: the value of a parameter. May be repeated.",
)
@scheduler_config_option
@plugin_option("A Python file with plugins. May be repeated.")
@gates_option
@validation_options
@seed_option(SEED)
@click.option(
    "--controllers/--no-controllers",
    default=True,
    help="Whether controllers create pods of Deployments and other workloads. Default: they do.",
)
@kubelet_policy_option
@extenders_option
@until_option("Continue for this virtual time, for example 10m. Default: until nothing changes any more.")
@output_option("table", "json", "yaml", text="Format of the result.")
@pods_to_explain_option
@click.option(
    "--fixes",
    is_flag=True,
    help="With --explain: the smallest changes that make a pending pod schedule, each tried on a copy.",
)
@report_option
@interactive_option
@click.option(
    "--record",
    "record_directory",
    type=click.Path(),
    metavar="DIR",
    help="Write everything that is given and decided to this new directory: `steersman replay` and `history` read it.",
)
@click.option("--all-nodes", is_flag=True, help="With --explain: every node, not only the best and the reasons.")
@click.option("--fail-on-pending", is_flag=True, help="Exit with 1 if a pod is left pending.")
@click.option("-v", "--verbose", is_flag=True, help="Print how long loading and scheduling took.")
def simulate(**given: Any) -> None:
    """Schedule pods without a cluster, in virtual time.

    Nodes, pods and all other objects that scheduling reads come from manifests, from dumps such as
    `kubectl get nodes,pods -A -o json`, or from a live cluster, which is only read. Pods without a
    node are scheduled, in the order of the files and by priority. Controllers create the pods of
    Deployments, StatefulSets, DaemonSets and other workloads; existing pods count as replicas. The
    same input and seed give the same output.

    Exits with 1 if an attempt failed with an internal error, if a pod is pending with
    --fail-on-pending, or if an expectation of the scenario is not met; with 4 if the simulation was
    stopped because pods are retried endlessly at one moment. Without --until, a run ends when
    nothing changes any more, or after an hour in which pods were only retried.
    """
    if given["fixes"] and not given["explain"]:
        raise click.UsageError("--fixes is for --explain.")
    if given["interactive"] and given["report_file"] is None:
        raise click.UsageError("--interactive is for --report.")
    scenario = given["scenario"]
    if scenario is None and given["example"] is not None:
        scenario = scenario_of(given["example"])
        if not given["files"]:
            check_can_be_simulated(given["example"])
    if scenario is not None:
        _simulate_scenario(given, scenario)
    else:
        _simulate_cluster(given)


def _simulate_scenario(given: Given, scenario: str) -> None:
    if given["kubeconfig"] or given["context"]:
        raise click.UsageError("--kubeconfig and --context are not for scenarios, which name their cluster.")
    if given["fixes"]:
        raise click.UsageError("--fixes is not for scenarios: there the cluster changes over time.")
    if given["interactive"]:
        raise click.UsageError("--interactive is not for scenarios: their report shows how the cluster changes.")
    if given["pools_file"]:
        raise click.UsageError("--pools is not for scenarios, which name their pools.")
    from steersman.cli.scenario import simulate_scenario

    is_of_example = given["scenario"] is None
    simulate_scenario({**given, "scenario": scenario, "example": None} if is_of_example else given)


def _simulate_cluster(given: Given) -> None:
    if given["settings"]:
        raise click.UsageError("--set is for --scenario.")
    from steersman.cli import simulation_report

    timing = _Timing(given["verbose"])
    report_file = given["report_file"]
    with planned(given, _nodes_of_pools(given["pools_file"])) as simulation:
        timing.loaded()
        before = None if report_file is None else simulation.result()
        page = _page(simulation) if given["interactive"] else None
        unrun = simulation.fork() if given["fixes"] else None
        with recording(simulation, given["record_directory"]):
            result = _run(simulation, given["until"], given["explain"])
        timing.ran(result)
        explanations = _explained(simulation, result, given, unrun)
    for note in result.notes:
        say_note(note)
    if result.stopped and given["output"] == "table":
        conclude(result, given["fail_on_pending"])
    most_nodes = None if given["all_nodes"] else MAX_NODES
    say_answer(
        given["output"],
        lambda: simulation_report.as_document(result, explanations),
        lambda: simulation_report.as_table(result, explanations, most_nodes, terminal_width()),
    )
    if page is not None:
        write_page(page.text(), report_file)
    elif report_file is not None:
        _write_report(simulation, result, before, report_file)
    conclude(result, given["fail_on_pending"])


def _nodes_of_pools(path: str | None) -> Iterator[api.Node]:
    """Yield the nodes that every pool has at least."""
    if path is not None:
        from steersman.simulation import load_pools

        for pool in load_pools(path):
            yield from pool.make_nodes(pool.min)


def _run(simulation: Simulation, until: float | None, explain: tuple[str, ...]) -> Result:
    with progress_bar() as show:
        return simulation.run(until, explain, show)


def _explained(simulation: Simulation, result: Result, given: Given, unrun: Simulation | None) -> list[PodExplanation]:
    """Explain the pods in the final state; `unrun` is the simulation before the run, for fixes."""
    pods: tuple[str, ...] = given["explain"]
    if not pods:
        return []
    from steersman.explain import ExplainOptions, explain_pod, pod_of_suspended_job
    from steersman.simulation import pod_key

    served = _served(given) if is_live(given) else None
    for pod in pods:
        if pod_of_suspended_job(simulation, pod_key(pod)) is None:
            result.explain(pod)  # raises for a pod that is not among the placements
    with working("explaining"):
        explained = [explain_pod(simulation, pod, ExplainOptions(loaded=unrun, served=served)) for pod in pods]
    if unrun is not None:
        unrun.close()
    return explained


def _served(given: Given) -> DocumentSource:
    from steersman.kube.client import ClusterChoice

    return cluster_documents(ClusterChoice(given["kubeconfig"], given["context"], ""))


def _page(simulation: Simulation) -> FilePage:
    from steersman.sandbox.web import FilePage

    return FilePage(simulation)


def _write_report(simulation: Simulation, result: Result, before: Result | None, path: str) -> None:
    from steersman.api import Node
    from steersman.simulation import node_groups, simulation_report

    groups = node_groups(simulation.cluster.objects(Node).values())
    write_report(simulation_report(result, before, groups, [command_line()]), path)


def conclude(result: Result, fail_on_pending: bool, unmet: Sequence[str] = ()) -> None:
    """End the command with the exit code of the result; `unmet` are the expectations of a scenario
    that are not met."""
    context = click.get_current_context()
    if result.stopped:
        say_error(result.stopped)
        context.exit(ExitCode.STOPPED)
    if result.failed:
        first = next(iter(result.failed.values()))
        others = f" (and {len(result.failed) - 1} more pods)" if len(result.failed) > 1 else ""
        say_error(f"pod {first.pod}{others} failed: {first.message}")
        context.exit(ExitCode.NO)
    problems = list(unmet)
    if fail_on_pending and result.pending:
        are = "pod is" if len(result.pending) == 1 else "pods are"
        problems.append(f"{len(result.pending)} {are} pending")
    for problem in problems:
        say_error(problem)
    if problems:
        context.exit(ExitCode.NO)


class _Timing:
    """Prints durations of phases on standard error, if requested."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._last = time.perf_counter()

    def loaded(self) -> None:
        self._say(f"loaded in {self._lap():.2f} s")

    def ran(self, result: Result) -> None:
        seconds = self._lap()
        decisions = result.summary.decisions
        self._say(f"{decisions} attempts in {seconds:.2f} s, {decisions / seconds if seconds else 0:,.0f} per second")

    def _lap(self) -> float:
        now = time.perf_counter()
        passed, self._last = now - self._last, now
        return passed

    def _say(self, text: str) -> None:
        if self._wanted:
            say(text, err=True)
