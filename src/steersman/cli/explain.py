# SPDX-License-Identifier: Apache-2.0
"""`steersman explain`: why pods are where they are, or nowhere, and what would help. Of a live
cluster, or of files.

Reads, and changes nothing. `kubectl steersman why` is the same command.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from steersman.base import InputError, printable
from steersman.cli.examples import example_option
from steersman.cli.live_cluster import cluster_documents, cluster_options, effective_settings, run_on_cluster
from steersman.cli.output import ExitCode, say, say_json, say_note, say_yaml, terminal_width
from steersman.cli.parameters import (
    MANIFESTS,
    extenders_option,
    filename_option,
    output_option,
    seed_option,
    trust_option,
    until_option,
    validation_options,
)
from steersman.cli.plan_inputs import example_of, load_simulation
from steersman.cli.progress import working

if TYPE_CHECKING:
    from steersman.explain import PodExplanation
    from steersman.explain.fixes import DocumentSource
    from steersman.kube.client import ChosenCluster, Transport
    from steersman.simulation import Simulation

MAX_NODES: Final = 5
"""Maximum number of nodes that fit in the text."""
_POD_KINDS: Final = frozenset(("pod", "pods", "po"))
NONE_PENDING: Final = "No pod is waiting for a node."
NO_POD: Final = "Name a POD, or use --all-pending."


@click.command()
@click.argument("pods", nargs=-1, metavar="[POD]…")
@click.option(
    "--all-pending", is_flag=True, help="Explain every pod that waits for a node; replicas are explained once."
)
@click.option(
    "-n",
    "--namespace",
    default="",
    metavar="NAMESPACE",
    help="Namespace of the pods; default: the context's. With --all-pending: only this namespace.",
)
@click.option(
    "-A",
    "--all-namespaces",
    is_flag=True,
    help="With --all-pending: pods of every namespace, also if the context names one.",
)
@filename_option(f"Explain these files instead of a cluster. {MANIFESTS}")
@example_option("Explain one of `steersman examples` instead of a cluster.")
@cluster_options
@extenders_option
@validation_options
@seed_option("With -f: seed for the choice among equally good nodes.")
@until_option(
    "With -f: explain the state after this virtual time, for example 10m. Default: when nothing changes any more."
)
@click.option(
    "--record",
    "record_directory",
    type=click.Path(),
    metavar="DIR",
    help="Explain a record instead of a cluster, as written by `run --record` and `simulate --record`.",
)
@click.option(
    "--at",
    default="",
    metavar="TIME",
    help="With --record: the time to explain. 14:05 (UTC), 2026-11-17T14:05:00Z, or 10m after the start of the record. "
    "Default: its end.",
)
@trust_option
@click.option(
    "--fixes/--no-fixes",
    default=None,
    help="Find the smallest changes that make a pending pod schedule, each tried on a copy. Default: for a single pod.",
)
@click.option(
    "--pools",
    "pools_file",
    type=click.Path(),
    metavar="FILE",
    help="NodePools, as for `plan nodes`: say whether the pod would fit on one more node of each pool.",
)
@click.option(
    "--to", "target", default="", metavar="NODE", help="For a placed pod: say what would move it to this node."
)
@click.option("--all-nodes", is_flag=True, help="Show every node in the text, not only groups and the best nodes.")
@output_option("text", "table", "json", "yaml", "markdown", text="`table` has a line and the cause for each pod.")
def explain(pods: tuple[str, ...], all_pending: bool, output: str, all_nodes: bool, **given: Any) -> None:
    """Say why pods are pending or why they are on their node, and what would help.

    POD is NAME, pod/NAME or NAMESPACE/NAME (in a namespace called pod, pods or po: NAME with -n).
    It is a pod of a live cluster, which is only read; of files (-f), which are simulated first; or
    of a record at a given time (--record, --at).

    For a pending pod, the answer has the cause, groups of nodes by their decisive objection, the
    smallest changes that help, each tried on a copy, and the next attempt. For a placed pod, it
    says whether the node would be chosen again, by which margin, and what would move the pod. Give
    the scheduler's own --config and --plugin to get that scheduler's answer. Plugin files that a
    record names are run only if you name them again with --plugin, or with --trust-record-plugins.

    Exits with 0 if every pod has a node or fits now, with 1 if a pod is pending or a plugin fails
    on it.
    """
    if given["all_namespaces"] and (pods or given["namespace"]):
        raise click.UsageError("-A is for --all-pending, without -n.")
    all_pending = all_pending or given["all_namespaces"]
    if bool(pods) == all_pending:
        raise click.UsageError(NO_POD if not pods else "Use either POD or --all-pending.")
    answers = _source(given)(pods, given)
    _print(answers, output, None if all_nodes else MAX_NODES, is_list=all_pending or len(pods) > 1)
    click.get_current_context().exit(_exit_code(answers))


# -- sources ----------------------------------------------------------------------------------------------------------

_LIVE: Final = ("kubeconfig", "context", "master")


def _source(given: dict[str, Any]) -> Callable[[Sequence[str], dict[str, Any]], Sequence[PodExplanation]]:
    """Return the function that explains pods of files, of a record, or of a live cluster."""
    has_files, has_record = bool(given["files"] or given["example"]), given["record_directory"] is not None
    if given["at"] and not has_record:
        raise click.UsageError("--at is a time of a record: it needs --record.")
    live = [f"--{name}" for name in _LIVE if given[name]]
    if has_files and has_record:
        raise click.UsageError("-f and --example are for files, --record for a record.")
    if live and (has_files or has_record):
        raise click.UsageError(f"{live[0]} is for a live cluster, -f, --example and --record are not.")
    if has_record:
        return _explain_record
    return _explain_files if has_files else _explain_cluster


def _explain_record(pods: Sequence[str], given: dict[str, Any]) -> Sequence[PodExplanation]:
    """Explain pods of a record at a given time; the record of a live cluster has no simulated
    queue."""
    from msgspec.structs import replace

    from steersman.cli.moments import as_loaded, recorded_moment, with_recorded_attempt
    from steersman.explain.fixes import without_partial_patches

    for name in ("config_file", "feature_gates", "emulated_version", "extenders"):
        if given[name]:
            raise click.UsageError(
                "A record has its own configuration: leave out --config, --feature-gates, --emulated-version "
                "and --extenders."
            )
    with working("going back"):
        directory, at = given["record_directory"], given["at"]
        moment = recorded_moment(directory, at, given["plugins"], trusts_record=given["trusts_record"])
    with moment.simulation as then, as_loaded(then) as loaded, working("explaining"):
        keys = [_key(pod, given["namespace"]) for pod in pods]
        answers = _answers(then, loaded, keys, given, notes=moment.notes, is_live=moment.is_live)
        if moment.is_live:
            answers = [with_recorded_attempt(answer, directory, moment) for answer in answers]
    return [
        answer if answer.fixes is None else replace(answer, fixes=without_partial_patches(answer.fixes))
        for answer in answers
    ]


def _explain_files(pods: Sequence[str], given: dict[str, Any]) -> Sequence[PodExplanation]:
    example = example_of(given)
    options = {**given, "feature_gates": given["feature_gates"] or None, "kubelet_policy": None}
    with working("loading"):
        loaded = load_simulation(options, example, [*example.manifests, *given["files"]])
    keys = [_key(pod, given["namespace"]) for pod in pods]
    loaded.internals.prepare_forks(*keys)  # shared by the answer and all trials of fixes
    with loaded, loaded.fork() as simulation, working("simulating"):
        stopped = simulation.run(given["until"]).stopped
        return _answers(simulation, loaded, keys, given, notes=(stopped,) if stopped else ())


def _explain_cluster(pods: Sequence[str], given: dict[str, Any]) -> Sequence[PodExplanation]:
    from steersman.explain.live import LiveSimulation, read_simulation
    from steersman.kube.client import ClusterChoice
    from steersman.scheduler.assembly import SchedulerOptions

    settings = effective_settings(given)
    scheduler = SchedulerOptions(
        settings.configuration,
        settings.gates,
        settings.registry,
        max_in_unschedulable=settings.max_in_unschedulable,
    )
    named: list[str] = []

    async def question(transport: Transport, cluster: ChosenCluster) -> LiveSimulation:
        named.extend(_key(pod, given["namespace"] or cluster.namespace) for pod in pods)
        server = cluster.connection.server
        return await read_simulation(transport, scheduler, server, named, extenders=given["extenders"])

    choice = ClusterChoice(given["kubeconfig"], given["context"], given["master"])
    simulation, notes, phases, others = run_on_cluster(choice, question)
    with simulation, working("explaining"):
        simulation.internals.prepare_forks(*named)
        served = cluster_documents(choice)
        return _answers(
            simulation,
            simulation,
            named,
            given,
            notes=notes,
            is_live=True,
            served=served,
            phases=phases,
            other_schedulers=others,
        )


def _answers(
    simulation: Simulation,
    loaded: Simulation,
    pods: Sequence[str],
    given: dict[str, Any],
    *,
    notes: tuple[str, ...] = (),
    is_live: bool = False,
    served: DocumentSource | None = None,
    phases: Mapping[str, str] | None = None,
    other_schedulers: tuple[str, ...] = (),
) -> Sequence[PodExplanation]:
    from steersman.explain import ExplainOptions, explain_pending, explain_pod
    from steersman.simulation import load_pools

    wants_fixes = len(pods) == 1 if given["fixes"] is None else given["fixes"]
    options = ExplainOptions(
        loaded=loaded if wants_fixes else None,
        served=served,
        pools=load_pools(given["pools_file"]) if given["pools_file"] else None,
        is_live=is_live,
        phases=phases or {},
        other_schedulers=other_schedulers,
        target=given["target"],
        notes=notes,
    )
    if not pods:
        return explain_pending(simulation, options, "" if given["all_namespaces"] else given["namespace"])
    return [explain_pod(simulation, pod, options) for pod in pods]


def _key(pod: str, namespace: str) -> str:
    """Return `namespace/name` of a pod argument, which may have the kind before its name. Raises
    `InputError`."""
    kind, slash, rest = pod.partition("/")
    name = rest if slash and kind in _POD_KINDS else pod
    key = name if "/" in name else f"{namespace or 'default'}/{name}"
    if not all(key.split("/")) or key.count("/") > 1:
        raise InputError(
            "is not the name of a pod", object="POD", value=pod, hint='write "web-0", "pod/web-0" or "shop/web-0"'
        )
    return key


# -- printing ---------------------------------------------------------------------------------------------------------


def _print(answers: Sequence[PodExplanation], output: str, limit: int | None, *, is_list: bool) -> None:
    from steersman.explain import answers_document

    if output in ("json", "yaml"):
        document = answers_document(answers) if is_list else answers[0].to_dict()
        say_json(document) if output == "json" else say_yaml(document)
    elif not answers:
        say(NONE_PENDING)
    elif output == "table":
        for note in _common_notes(answers):
            say_note(note)
        say("\n".join(_table(answers)))
    elif output == "markdown":
        say("\n".join(answer.markdown() for answer in answers).rstrip("\n"))
    else:
        common = _common_notes(answers) if len(answers) > 1 else ()
        for note in common:
            say_note(note)
        say("\n\n".join(answer_texts(answers, limit, terminal_width(), common)))


def _common_notes(answers: Sequence[PodExplanation]) -> Sequence[str]:
    """Return the notes common to all answers; they are printed once, first."""
    return [note for note in answers[0].notes if all(note in answer.notes for answer in answers)]


def answer_texts(
    answers: Iterable[PodExplanation], limit: int | None, width: int | None, printed: Collection[str] = ()
) -> Iterator[str]:
    """Yield each answer as text, with at most `limit` nodes that fit (None for all), without notes
    `printed` before."""
    import msgspec

    for answer in answers:
        notes = tuple(note for note in answer.notes if note not in printed)
        yield msgspec.structs.replace(answer, notes=notes).text(limit, width)


def _table(answers: Sequence[PodExplanation]) -> Iterator[str]:
    """Yield a line per pod or group of replicas, and the cause below it."""
    from steersman.base import aligned, wrapped

    width = terminal_width()
    rows = [("POD", "PODS", "STATE", "CAUSE")]
    rows += ((each.pod, str(1 + len(each.others)), str(each.state), str(each.cause.code)) for each in answers)
    header, *lines = aligned(rows)
    yield header
    for line, answer in zip(lines, answers, strict=True):
        yield line
        sentence = answer.cause.sentence if answer.is_pending else answer.summary
        yield from wrapped(f"  {printable(sentence)}", width)


def _exit_code(answers: Sequence[PodExplanation]) -> ExitCode:
    from steersman.explain import PodState

    is_no = any(answer.state in (PodState.ERROR, PodState.PENDING) for answer in answers)
    return ExitCode.NO if is_no else ExitCode.YES
