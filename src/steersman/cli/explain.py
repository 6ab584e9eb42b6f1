# SPDX-License-Identifier: Apache-2.0
"""`steersman explain`: why pods are where they are, or nowhere, and what would help. Of a live cluster, or of files.

Reads, and changes nothing. `kubectl steersman why` is the same command.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from steersman.cli.examples import example_option
from steersman.cli.live_cluster import asked, cluster_options, served_by
from steersman.cli.output import say, say_json, say_note, say_yaml
from steersman.cli.parameters import (
    MANIFESTS,
    extenders_option,
    filename_option,
    seed_option,
    trust_option,
    until_option,
    validation_options,
)
from steersman.cli.plan_inputs import example_of, load_simulation
from steersman.cli.progress import working
from steersman.cli.terminal import terminal_width
from steersman.errors import InputError
from steersman.printable import printable

if TYPE_CHECKING:
    from steersman.client import ChosenCluster, Transport
    from steersman.fixes import DocumentSource
    from steersman.sim import Simulation
    from steersman.why import PodExplanation

MOST_NODES: Final = 5
"""So many of the nodes that fit are shown."""
BROKEN: Final = 1
"""Exit code when something is broken: a plugin fails on a pod."""
PENDING: Final = 3
"""Exit code when a pod is pending."""
_OF_PODS: Final = frozenset(("pod", "pods", "po"))
NONE_PENDING: Final = "No pod waits for a node."
NOTHING_ASKED: Final = "Name a POD, or ask for --all-pending."


@click.command()
@click.argument("pods", nargs=-1, metavar="[POD]…")
@click.option("--all-pending", is_flag=True, help="Every pod that waits for a node; replicas are explained once.")
@click.option(
    "-n",
    "--namespace",
    default="",
    metavar="NAMESPACE",
    help="Of the pods; else the context's. With --all-pending: only this one.",
)
@filename_option(f"Instead of a cluster. {MANIFESTS}")
@example_option("One of `steersman examples` instead of a cluster.")
@cluster_options
@extenders_option
@validation_options
@seed_option("With -f: decides among equally good nodes.")
@until_option("With -f: look after so much virtual time, for example 10m. Default: when nothing changes any more.")
@click.option(
    "--record",
    "record_directory",
    type=click.Path(),
    metavar="DIR",
    help="A record instead of a cluster, as `run --record` and `simulate --record` write it.",
)
@click.option(
    "--at",
    default="",
    metavar="TIME",
    help="With --record: the moment to look at. 14:05 (UTC), 2026-11-17T14:05:00Z, or 10m after the start of the record. "
    "Default: its end.",
)
@trust_option
@click.option(
    "--fixes/--no-fixes",
    default=None,
    help="The smallest changes that make a pending pod schedule, each tried on a copy. Default: for a single pod.",
)
@click.option(
    "--pools",
    "pools_file",
    type=click.Path(),
    metavar="FILE",
    help="NodePools, as `plan nodes` takes them: whether one more node of a pool would take the pod.",
)
@click.option("--to", "target", default="", metavar="NODE", help="Of a placed pod: what would bring it to this node.")
@click.option("--all-nodes", is_flag=True, help="Show every node in the text, not only groups and the best.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "table", "json", "yaml", "markdown"]),
    default="text",
    show_default=True,
    help="`table` has a line per pod, and its cause.",
)
def explain(pods: tuple[str, ...], all_pending: bool, output: str, all_nodes: bool, **given: Any) -> None:
    """Say why pods are pending or where they are, in a sentence, and what would help.

    POD is NAME, pod/NAME or NAMESPACE/NAME (in a namespace that is called pod, pods or po: NAME with -n) of a live cluster,
    which is only read; of files (-f), which are simulated first; or
    of a record, at a time (--record, --at). A pending pod: the cause, groups of nodes by the objection that decides, the
    smallest changes that help, each tried, and when it is tried again. A pod that has a node: does the node still win, by how
    much, and what would move it? With the scheduler's own --config and --plugin the answer is that scheduler's. Of a record,
    the files with plugins that it names are run only if you name them again with --plugin, or with --trust-record-plugins.

    Exits with 0 if every pod has a node or fits now, with 3 if one is pending, with 1 if something is broken (a plugin fails on
    a pod), with 2 if the input cannot be used, with 5 if Steersman itself is at fault.
    """
    if bool(pods) == all_pending:
        raise click.UsageError(NOTHING_ASKED if not pods else "Either POD or --all-pending.")
    answers = _source(given)(pods, given)
    _print(answers, output, None if all_nodes else MOST_NODES, is_list=all_pending or len(pods) > 1)
    click.get_current_context().exit(_exit_code(answers))


# -- asking -----------------------------------------------------------------------------------------------------------

_LIVE: Final = ("kubeconfig", "context", "master")


def _source(given: dict[str, Any]) -> Callable[[Sequence[str], dict[str, Any]], Sequence[PodExplanation]]:
    """Who answers: files, a record, or the cluster."""
    has_files, has_record = bool(given["files"] or given["example"]), given["record_directory"] is not None
    if given["at"] and not has_record:
        raise click.UsageError("--at is a moment of a record: --record says of which.")
    live = [f"--{name}" for name in _LIVE if given[name]]
    if has_files and has_record:
        raise click.UsageError("-f and --example are for files, --record for a record.")
    if live and (has_files or has_record):
        raise click.UsageError(f"{live[0]} is for a live cluster, -f, --example and --record are not.")
    if has_record:
        return _of_record
    return _of_files if has_files else _of_cluster


def _of_record(pods: Sequence[str], given: dict[str, Any]) -> Sequence[PodExplanation]:
    """The simulation of a moment of a record. That of a live cluster has decided nothing yet: its queue was the scheduler's."""
    from msgspec.structs import replace

    from steersman.cli.moments import as_loaded, recorded_moment, with_recorded_attempt
    from steersman.fixes import without_partial_patches

    for name in ("config_file", "feature_gates", "extenders"):
        if given[name]:
            raise click.UsageError("The scheduler of a record is the recorded one.")
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


def _of_files(pods: Sequence[str], given: dict[str, Any]) -> Sequence[PodExplanation]:
    example = example_of(given)
    options = {**given, "feature_gates": given["feature_gates"] or None, "kubelet_policy": None}
    with working("loading"):
        loaded = load_simulation(options, example, [*example.manifests, *given["files"]])
    keys = [_key(pod, given["namespace"]) for pod in pods]
    for key in keys:
        loaded.look_at(key)  # once for the answer and for all trials of fixes
    with loaded, loaded.fork() as simulation, working("simulating"):
        stopped = simulation.run(given["until"]).stopped
        return _answers(simulation, loaded, keys, given, notes=(stopped,) if stopped else ())


def _of_cluster(pods: Sequence[str], given: dict[str, Any]) -> Sequence[PodExplanation]:
    from steersman.app import RunOptions, effective
    from steersman.client import ClusterChoice
    from steersman.live import LiveSimulation, read_simulation

    settings = effective(
        RunOptions(
            config_file=given["config_file"], plugin_files=given["plugins"], feature_gates=given["feature_gates"]
        )
    )
    named: list[str] = []

    async def question(transport: Transport, cluster: ChosenCluster) -> LiveSimulation:
        named.extend(_key(pod, given["namespace"] or cluster.namespace) for pod in pods)
        server = cluster.connection.server
        return await read_simulation(transport, settings, server, named, extenders=given["extenders"])

    choice = ClusterChoice(given["kubeconfig"], given["context"], given["master"])
    simulation, notes = asked(choice, question)
    with simulation, working("explaining"):
        for pod in named:
            simulation.look_at(pod)
        return _answers(simulation, simulation, named, given, notes=notes, is_live=True, served=served_by(choice))


def _answers(
    simulation: Simulation,
    loaded: Simulation,
    pods: Sequence[str],
    given: dict[str, Any],
    *,
    notes: tuple[str, ...] = (),
    is_live: bool = False,
    served: DocumentSource | None = None,
) -> Sequence[PodExplanation]:
    from steersman import why
    from steersman.sim import load_pools

    wants_fixes = len(pods) == 1 if given["fixes"] is None else given["fixes"]
    question = why.Asked(
        loaded=loaded if wants_fixes else None,
        served=served,
        pools=load_pools(given["pools_file"]) if given["pools_file"] else None,
        is_live=is_live,
        target=given["target"],
        notes=notes,
    )
    if not pods:
        return why.explain_pending(simulation, question, given["namespace"])
    return [why.explain_pod(simulation, pod, question) for pod in pods]


def _key(pod: str, namespace: str) -> str:
    """`namespace/name` of a pod as it was typed; before its name the kind may stand, as kubectl prints it. Raises
    `InputError`."""
    kind, slash, rest = pod.partition("/")
    name = rest if slash and kind in _OF_PODS else pod
    key = name if "/" in name else f"{namespace or 'default'}/{name}"
    if not all(key.split("/")) or key.count("/") > 1:
        raise InputError("is no pod", object="POD", value=pod, hint='write "web-0", "pod/web-0" or "shop/web-0"')
    return key


# -- printing ---------------------------------------------------------------------------------------------------------


def _print(answers: Sequence[PodExplanation], output: str, most: int | None, *, is_list: bool) -> None:
    from steersman.why import answers_document

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
        say("\n\n".join(answer_texts(answers, most, terminal_width(), common)))


def _common_notes(answers: Sequence[PodExplanation]) -> Sequence[str]:
    """Notes that hold for all pods; they are said once, before them."""
    return [note for note in answers[0].notes if all(note in answer.notes for answer in answers)]


def answer_texts(
    answers: Iterable[PodExplanation], most: int | None, width: int | None, told: Collection[str] = ()
) -> Iterator[str]:
    """Each answer as text, with `most` of the nodes that fit, None: every node; without notes that were `told` already."""
    import msgspec

    for answer in answers:
        notes = tuple(note for note in answer.notes if note not in told)
        yield msgspec.structs.replace(answer, notes=notes).text(most, width)


def _table(answers: Sequence[PodExplanation]) -> Iterator[str]:
    """A line per pod or group of replicas, and below it the sentence."""
    from steersman.explain.tables import aligned, wrapped

    width = terminal_width()
    rows = [("POD", "PODS", "STATE", "CAUSE")]
    rows += ((each.pod, str(1 + len(each.others)), str(each.state), str(each.cause.code)) for each in answers)
    header, *lines = aligned(rows)
    yield header
    for line, answer in zip(lines, answers, strict=True):
        yield line
        sentence = answer.cause.sentence if answer.is_pending else answer.summary
        yield from wrapped(f"  {printable(sentence)}", width)


def _exit_code(answers: Sequence[PodExplanation]) -> int:
    from steersman.why import PodState

    states = {answer.state for answer in answers}
    if PodState.ERROR in states:
        return BROKEN
    return PENDING if PodState.PENDING in states else 0
