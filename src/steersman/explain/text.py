# SPDX-License-Identifier: Apache-2.0
"""Renders an answer as text: the cause, groups of nodes, what would help, the next attempt. Fits on
a screen at any cluster size.

The sentences are shared with `markdown` and `html`. Nodes are shown in groups of the same decisive
objection; without a limit every node has a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from steersman.api import POD_SCHEDULED
from steersman.base import counted, printable, wrap_hanging, wrapped
from steersman.explain.document import (
    NodeComparison,
    PlacementMargin,
    PodExplanation,
    QueuePosition,
    ScoreDifference,
    Waiting,
)
from steersman.explain.fixes.fix import Fix
from steersman.explain.groups import group_sentences
from steersman.scheduler.diagnosis import (
    CauseCode,
    Outcome,
    RequeueEvents,
    fitting_lines,
    group_lines,
    outcome_text,
    preemption_lines,
    rejecting_groups,
)
from steersman.simulation import GATED_QUEUE

MAX_REASONS = 2


def answer_text(answer: PodExplanation, limit: int | None, width: int | None) -> str:
    """Return the answer with at most `limit` rows per table; with None, every node has a row."""
    return "\n".join(_lines(answer, limit, width))


def _lines(answer: PodExplanation, limit: int | None, width: int | None) -> Iterator[str]:
    for line in _heading(answer):
        yield from wrapped(printable(line), width)
    if answer.group is not None:
        yield from _paragraph(f"PodGroup {answer.group.group}:", group_sentences(answer.group), width)
    nodes = list(map(printable, _nodes(answer, limit, width)))
    yield from ("", *nodes) if nodes else ()
    if answer.placed is not None:
        heading = f"Why {answer.node}, and what would move the pod:"
        yield from _paragraph(heading, margin_sentences(answer.node, answer.placed), width)
    if answer.fixes is not None and answer.is_pending:
        yield ""
        unneeded = placed_later(answer) if not answer.fixes else ""
        yield from wrapped(unneeded, width) if unneeded else [fixes_text(answer.pod, answer.fixes, width)]
    if answer.when is not None:
        yield from _paragraph("Next attempt:", waiting_sentences(answer.when), width)
    if answer.requeue_events:
        yield from _paragraph("Events that lead to another attempt:", event_sentences(answer.requeue_events), width)


def _paragraph(heading: str, sentences: Iterable[str], width: int | None) -> Iterator[str]:
    yield ""
    for line in (heading, *(f"  {sentence}" for sentence in sentences)):
        yield from wrapped(printable(line), width)


def _heading(answer: PodExplanation) -> Iterator[str]:
    where = f"on {answer.node}" if answer.node else "without a node"
    yield f"Pod {title(answer)}, {answer.phase or 'Pending'}, {where}; scheduler {answer.scheduler_name}"
    yield from (f"  {text}" for text in _outcome(answer))
    yield from (f"  note: {note}" for note in answer.notes)
    yield from (f"  {text}" for text in conditions(answer))


def _outcome(answer: PodExplanation) -> Iterator[str]:
    """Yield the cause of a pending pod or the summary of a placed one, and the outcome of its
    cycle; the outcome comes first if a cycle has placed the pod."""
    explanation = answer.explanation
    is_alone = answer.group is None and answer.cause.code is not CauseCode.HELD_BACK
    outcome = [outcome_text(explanation)] if is_alone and explanation.outcome is not Outcome.NOT_TRIED else []
    was_placed_here = answer.placed is not None and answer.placed.then is not None
    yield from (*outcome, lead(answer)) if was_placed_here else (lead(answer), *outcome)


def lead(answer: PodExplanation) -> str:
    """Return the main sentence: the cause of a pending pod, else the summary."""
    return answer.cause.sentence if answer.is_pending else answer.summary


def title(answer: PodExplanation) -> str:
    """Return the pod, and the number of other pods that share the answer."""
    if not answer.others:
        return answer.pod
    owner = f"of {answer.controller}" if answer.controller else "like it"
    return f"{answer.pod} and {len(answer.others)} other{'s' if len(answer.others) > 1 else ''} {owner}"


def placed_later(answer: PodExplanation) -> str:
    """Return how a pending pod gets a node without any change; "" if it does not."""
    node = "" if answer.when is None else answer.when.node_if_left_alone
    return f"No change is needed: the pod will go to {node} (tried on a copy)." if node else ""


def conditions(answer: PodExplanation) -> Iterator[str]:
    """Yield the conditions that are not True, without the one that repeats the message of the
    explanation."""
    for condition in answer.conditions:
        if condition.status == "True":
            continue
        if condition.type == POD_SCHEDULED and condition.message and condition.message == answer.explanation.message:
            continue
        words = f"{condition.type}={condition.status}"
        if condition.reason:
            words += f" ({condition.reason})"
        yield f"{words}: {condition.message}" if condition.message else words


def _nodes(answer: PodExplanation, limit: int | None, width: int | None) -> Iterator[str]:
    """Yield the nodes that fit, groups of the other nodes, and the result of preemption."""
    explanation = answer.explanation
    if limit is None:
        yield from explanation.table(None, width).splitlines()
        return
    fitting = [node for node in explanation.nodes if node.fits]
    groups = rejecting_groups(explanation.nodes)
    if fitting:
        yield from fitting_lines(explanation, fitting, limit, width)
    if fitting and groups and not explanation.nominated_only:
        yield ""
        yield f"Does not fit on {sum(group.count for group in groups)} of {len(explanation.nodes)} nodes:"
    if groups and not explanation.nominated_only:
        yield from group_lines(groups, width)
    if explanation.preemption is not None:
        yield ""
        yield from preemption_lines(explanation.preemption, limit, width)


# -- placed pods ------------------------------------------------------------------------------------------------------


def margin_sentences(node: str, placed: PlacementMargin) -> Iterator[str]:
    """Yield sentences about the node and its best rival."""
    if placed.then is not None and placed.then == placed.now:
        yield f"When the pod was placed, and now: {_comparison(node, placed.now)}"
    else:
        if placed.then is not None:
            yield f"When the pod was placed: {_comparison(node, placed.then)}"
        yield f"Now: {_comparison(node, placed.now)}"
    if not placed.would_stay:
        yield f"The pod would go to {placed.goes_to} now." if placed.goes_to else "The pod would fit on no node now."
    elsewhere = f"it would go to {placed.if_cordoned}" if placed.if_cordoned else "it would fit on no other node"
    yield f"If {node} were cordoned and the pod recreated, {elsewhere} (tried on a copy)."
    yield from placed.changes


def _comparison(node: str, found: NodeComparison) -> str:
    if not found.runner_up:
        return "no other node fits."
    if found.total is None or found.runner_up_total is None:
        return f"{node} does not fit, {found.runner_up} does."
    against = f"{node} has {found.total} points; {found.runner_up}, the best other node, has {found.runner_up_total}"
    if not found.differences:
        return f"{against}; the choice among {found.ties} nodes was random."
    need = abs(found.total - found.runner_up_total) + 1
    last = found.runner_up if found.total >= found.runner_up_total else node
    return f"{against}: {', '.join(map(_difference, found.differences))}. {last} would need {need} points more."


def _difference(each: ScoreDifference) -> str:
    return f"{each.plugin} {each.difference:+d} ({each.node} against {each.other})"


# -- waiting ----------------------------------------------------------------------------------------------------------


def waiting_sentences(when: Waiting) -> Iterator[str]:
    """Yield when the pod is tried again, and whether waiting or a larger pool helps."""
    if when.queue is not None:
        yield _queue(when.queue)
    yield when.next_attempt
    if when.terminating:
        pods = "1 terminating pod is" if when.terminating == 1 else f"{when.terminating} terminating pods are"
        node = when.node_after_terminating
        yield f"Once {pods} gone, the pod {f'fits on {node}' if node else 'still fits on no node'} (tried on a copy)."
    for pool in when.pools or ():
        yield f"One more node of pool {pool.pool} {'would help' if pool.helps else f'would not help: {pool.reason}'}."


def _queue(queue: QueuePosition) -> str:
    if queue.queue == GATED_QUEUE:
        return "The pod is held back, and has no position in the queue."
    if queue.waiting == 1 and queue.is_estimate:
        return "No other pod waits."
    more = queue.position - 1 - len(queue.ahead)
    others = f" and {more} more" if more > 0 else ""
    ahead = f"; ahead: {', '.join(queue.ahead)}{others}" if queue.ahead else ""
    line = f"number {queue.position} of {queue.waiting} waiting pods, by QueueSort{ahead}"
    if queue.is_estimate:
        return f"The pod is {line} (our estimate: the scheduler does not show its queue)."
    where = "waits for an event" if queue.queue == "unschedulable" else f"is in {queue.queue}"
    return f"The pod {where} after {counted(queue.attempts, 'attempt')}; {line if queue.waiting > 1 else 'no other pod waits'}."


def event_sentences(found: Sequence[RequeueEvents]) -> Iterator[str]:
    """Yield the events that requeue the pod, with the rejections that they may lift, by plugin."""
    for each in found:
        lifts = f" (may lift {_rejections(each)})" if each.reasons else ""
        yield f"{each.plugin}: {'; '.join(each.events) or 'no particular event'}{lifts}"


def _rejections(found: RequeueEvents) -> str:
    shown = ", ".join(found.reasons[:MAX_REASONS]) + (", …" if len(found.reasons) > MAX_REASONS else "")
    return f"{shown} on {counted(found.nodes, 'node')}"


# -- fixes -----------------------------------------------------------------------------------------


def fixes_text(pod: str, fixes: Sequence[Fix], width: int | None = None) -> str:
    """Return the fixes of a pod as text. Sentences are folded at `width`, commands are not."""
    return "\n".join(map(printable, _fix_lines(pod, fixes, width)))


def _fix_lines(pod: str, fixes: Sequence[Fix], width: int | None) -> Iterator[str]:
    if not fixes:
        yield from wrapped(f"No change was found that makes {pod} schedule.", width)
        return
    noun = "change makes" if len(fixes) == 1 else "changes, each by itself, make"
    yield from wrapped(f"{len(fixes)} {noun} {pod} schedule (tried on a copy):", width)
    for number, fix in enumerate(fixes, 1):
        yield from wrap_hanging(f"  {number}. ", fix.summary, width)
        yield from (f"     {command}" for command in fix.commands)
