# SPDX-License-Identifier: Apache-2.0
"""An answer as text: the cause, groups of nodes, what would help, when it is tried again. Fits on a screen at any size.

Of a pending pod the nodes are shown in groups by the objection that decides; with every node wanted, each has a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from steersman.explain import CauseCode, NodeGroup, Outcome, Waker, rejecting_groups
from steersman.explain.tables import aligned, wrapped
from steersman.explain.text import fitting_lines, outcome_text, preemption_lines
from steersman.fixes import fixes_text
from steersman.printable import printable
from steersman.sim.queue_place import GATED_QUEUE
from steersman.why.answer import NodeComparison, PodExplanation, QueuePosition, ScoreDifference, Standing, Waiting

MOST_GROUPS: Final = 8
"""So many groups of nodes are shown."""
MOST_REASONS: Final = 2
SCHEDULED: Final = "PodScheduled"


def answer_text(answer: PodExplanation, most: int | None, width: int | None) -> str:
    """`most` rows in tables of nodes that fit, None: every node has a line of its own."""
    return "\n".join(_lines(answer, most, width))


def _lines(answer: PodExplanation, most: int | None, width: int | None) -> Iterator[str]:
    for line in _heading(answer):
        yield from wrapped(printable(line), width)
    yield ""
    yield from map(printable, _nodes(answer, most, width))
    if answer.placed is not None:
        yield from _paragraph(_standing(answer.node, answer.placed), width)
    if answer.fixes is not None and answer.is_pending:
        yield ""
        helped = goes_anyway(answer) if not answer.fixes else ""
        yield from wrapped(helped, width) if helped else [fixes_text(answer.pod, answer.fixes, width)]
    if answer.when is not None:
        yield from _paragraph(when_lines(answer.when), width)
    yield from _paragraph(waking_lines(answer.wakers), width)


def _heading(answer: PodExplanation) -> Iterator[str]:
    where = f"on {answer.node}" if answer.node else "without a node"
    yield f"Pod {title(answer)}, {answer.phase or 'Pending'}, {where}; scheduler {answer.scheduler_name}"
    yield from (f"  {text}" for text in _outcome(answer))
    yield from (f"  note: {note}" for note in answer.notes)
    yield from (f"  {text}" for text in conditions(answer))


def _outcome(answer: PodExplanation) -> Iterator[str]:
    """The cause of a pending pod, or how a placed one stands, and what its cycle came to; the older of the two goes first."""
    explanation = answer.explanation
    standing = answer.cause.sentence if answer.is_pending else answer.summary
    was_tried = explanation.outcome is not Outcome.NOT_TRIED and answer.cause.code is not CauseCode.HELD_BACK
    came_to = [outcome_text(explanation)] if was_tried else []
    was_placed_here = answer.placed is not None and answer.placed.then is not None
    yield from (*came_to, standing) if was_placed_here else (standing, *came_to)


def title(answer: PodExplanation) -> str:
    """The pod, and how many others are explained with it."""
    if not answer.others:
        return answer.pod
    return f"{answer.pod} and {len(answer.others)} other{'s' if len(answer.others) > 1 else ''} of {answer.controller}"


def goes_anyway(answer: PodExplanation) -> str:
    """How a pending pod gets its node although nobody changes anything; "" if it does not."""
    node = "" if answer.when is None else answer.when.node_if_left_alone
    return f"No change is needed: left alone it goes to {node} (tried on a copy)." if node else ""


def conditions(answer: PodExplanation) -> Iterator[str]:
    """The pod's conditions that tell of something, but for one that says what is said anyway."""
    for condition in answer.conditions:
        if condition.status == "True":
            continue
        if condition.type == SCHEDULED and condition.message and condition.message == answer.explanation.message:
            continue
        words = f"{condition.type}={condition.status}"
        if condition.reason:
            words += f" ({condition.reason})"
        yield f"{words}: {condition.message}" if condition.message else words


# -- nodes ------------------------------------------------------------------------------------------------------------


def _nodes(answer: PodExplanation, most: int | None, width: int | None) -> Iterator[str]:
    """The nodes that fit, groups of the others, and what preemption would do; with no limit every node has a line."""
    explanation = answer.explanation
    if most is None:
        yield from explanation.table(None, width).splitlines()
        return
    fitting = [node for node in explanation.nodes if node.fits]
    groups = rejecting_groups(explanation.nodes)
    if fitting:
        yield from fitting_lines(explanation, fitting, most, width)
    if fitting and groups and not explanation.nominated_only:
        yield ""
        yield f"Does not fit on {sum(group.count for group in groups)} of {len(explanation.nodes)} nodes:"
    if groups and not explanation.nominated_only:
        yield from group_rows(groups, width)
    if explanation.preemption is not None:
        yield ""
        yield from preemption_lines(explanation.preemption, most, width)


def group_rows(groups: Sequence[NodeGroup], width: int | None) -> Iterator[str]:
    """A row per group of nodes; below it what its nodes differ in."""
    rows = [("NODES", "REASON", "NEAREST")]
    for group in groups[:MOST_GROUPS]:
        others = "" if group.objections == 1 else " and more"
        rows.append((str(group.count), f"{reason_of(group)}{others}", nearest_of(group)))
    yield from aligned([tuple(map(printable, row)) for row in rows], width=width)
    left = groups[MOST_GROUPS:]
    if left:
        yield f"and {sum(group.count for group in left)} nodes for {len(left)} other reasons"
    for group in groups[:MOST_GROUPS]:
        yield from _details(group, width)


def reason_of(group: NodeGroup) -> str:
    """The objection of a group, without what is told of its nodes one by one."""
    if not group.details:
        return group.objection
    return group.objection.replace(f" ({group.details[0].text})", "").replace(f": {group.details[0].text}", "")


def _details(group: NodeGroup, width: int | None) -> Iterator[str]:
    """The details in which the nodes of a group differ."""
    if group.details:
        yield from wrapped(f"  {reason_of(group)}:", width)
    for detail in group.details:
        yield from wrapped(f"    {detail.count} node{'' if detail.count == 1 else 's'}: {detail.text}", width)
    left = group.count - sum(detail.count for detail in group.details)
    if group.details and left:
        yield f"    and {left} more"


def nearest_of(group: NodeGroup) -> str:
    """The node of a group that comes nearest, or some of them where nodes do not differ."""
    more = group.count - len(group.examples)
    return group.nearest or ", ".join(group.examples) + (f" and {more} more" if more > 0 else "")


# -- placed pods ------------------------------------------------------------------------------------------------------


def _standing(node: str, placed: Standing) -> Iterator[str]:
    yield f"Why {node}, and what would move it:"
    yield from (f"  {line}" for line in standing_lines(node, placed))


def standing_lines(node: str, placed: Standing) -> Iterator[str]:
    """Sentences about the node against its best rival."""
    if placed.then is not None and placed.then == placed.now:
        yield f"When it was placed, and now: {_comparison(node, placed.now)}"
    else:
        if placed.then is not None:
            yield f"When it was placed: {_comparison(node, placed.then)}"
        yield f"Now: {_comparison(node, placed.now)}"
    if not placed.would_stay:
        yield f"It would go to {placed.goes_to} now." if placed.goes_to else "It would fit nowhere now."
    elsewhere = f"it would go to {placed.if_cordoned}" if placed.if_cordoned else "it would fit nowhere"
    yield f"Were {node} cordoned and the pod made again, {elsewhere} (tried on a copy)."
    yield from placed.changes


def _comparison(node: str, found: NodeComparison) -> str:
    if not found.runner_up:
        return "no other node fits."
    if found.total is None or found.runner_up_total is None:
        return f"{node} does not fit, {found.runner_up} does."
    against = f"{node} has {found.total} points, {found.runner_up}, the best of the others, {found.runner_up_total}"
    if not found.differences:
        return f"{against}; chance decided among {found.ties} nodes."
    need = abs(found.total - found.runner_up_total) + 1
    last = found.runner_up if found.total >= found.runner_up_total else node
    return f"{against}: {', '.join(map(_difference, found.differences))}. {last} would need {need} points more."


def _difference(each: ScoreDifference) -> str:
    return f"{each.plugin} {each.difference:+d} ({each.node} against {each.other})"


# -- when -------------------------------------------------------------------------------------------------------------


def when_lines(when: Waiting) -> Iterator[str]:
    """When the pod is tried again, and whether waiting helps."""
    yield "When:"
    if when.queue is not None:
        yield f"  {_queue(when.queue)}"
    yield f"  {when.next_attempt}"
    if when.terminating:
        pods = "1 terminating pod has" if when.terminating == 1 else f"{when.terminating} terminating pods have"
        helps = f"it fits on {when.node_after_terminating}" if when.node_after_terminating else "it still fits nowhere"
        yield f"  Once {pods} gone, {helps} (tried on a copy)."
    for pool in when.pools or ():
        yield f"  One more node of pool {pool.pool} {'would take it' if pool.helps else f'does not help: {pool.reason}'}."


def _queue(queue: QueuePosition) -> str:
    if queue.queue == GATED_QUEUE:
        return "It is held back, and stands in no line."
    if queue.waiting == 1 and queue.is_estimate:
        return "No other pod waits."
    more = queue.position - 1 - len(queue.ahead)
    others = f" and {more} more" if more > 0 else ""
    ahead = f"; ahead: {', '.join(queue.ahead)}{others}" if queue.ahead else ""
    line = f"number {queue.position} of {queue.waiting} pods that wait, by QueueSort{ahead}"
    if queue.is_estimate:
        return f"{line[0].upper()}{line[1:]} (our estimate: the scheduler does not show its queue)."
    tried = f"{queue.attempts} attempt{'' if queue.attempts == 1 else 's'}"
    where = "Waits for an event" if queue.queue == "unschedulable" else f"In {queue.queue}"
    return f"{where} after {tried}; {line if queue.waiting > 1 else 'no other pod waits'}."


def waking_lines(found: Sequence[Waker]) -> Iterator[str]:
    """The events by which the pod would be tried again, with what each plugin's could lift."""
    if not found:
        return
    yield "What would have it tried again:"
    for waker in found:
        lifts = f" (could lift {_rejections(waker)})" if waker.reasons else ""
        yield f"  {waker.plugin}: {'; '.join(waker.events) or 'nothing in particular'}{lifts}"


def _rejections(waker: Waker) -> str:
    shown = ", ".join(waker.reasons[:MOST_REASONS]) + (", …" if len(waker.reasons) > MOST_REASONS else "")
    return f"{shown} on {waker.nodes} node{'' if waker.nodes == 1 else 's'}"


def _paragraph(lines: Iterator[str], width: int | None) -> Iterator[str]:
    """Lines of prose after an empty one; nothing if there are none."""
    found = list(lines)
    if found:
        yield ""
    for line in found:
        yield from wrapped(printable(line), width)
