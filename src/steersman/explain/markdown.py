# SPDX-License-Identifier: Apache-2.0
"""Renders an answer as Markdown for issues and chats: the cause, a table of groups of nodes, fixes,
the next attempt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from steersman.base import counted, printable
from steersman.explain.document import PodExplanation
from steersman.explain.fixes import Fix
from steersman.explain.groups import group_sentences
from steersman.explain.text import (
    conditions,
    event_sentences,
    lead,
    margin_sentences,
    placed_later,
    title,
    waiting_sentences,
)
from steersman.scheduler.diagnosis import MAX_GROUPS, NodeGroup, nearest_of, reason_of

NO_FIX: Final = "No change was found that makes the pod schedule."


def answer_markdown(answer: PodExplanation) -> str:
    """Return the answer; its length does not depend on the size of the cluster."""
    return "\n".join(map(printable, _lines(answer))) + "\n"


def _lines(answer: PodExplanation) -> Iterator[str]:
    yield f"## Pod {_escaped(title(answer))}"
    yield ""
    yield f"**{_escaped(lead(answer))}**"
    for text in (answer.explanation.message, *conditions(answer)):
        if text:
            yield ""
            yield _escaped(text)
    if answer.notes:
        yield ""
        yield from (f"* note: {_escaped(note)}" for note in answer.notes)
    if answer.group is not None:
        yield from _list(f"PodGroup {answer.group.group}", group_sentences(answer.group))
    if answer.cause.groups and answer.is_pending:
        yield ""
        yield from _groups(answer.cause.groups)
    if answer.placed is not None:
        yield from _list("Why here", margin_sentences(answer.node, answer.placed))
    if answer.fixes is not None and answer.is_pending:
        yield from _fixes(answer.fixes, placed_later(answer) or NO_FIX)
    if answer.when is not None:
        yield from _list("Next attempt", waiting_sentences(answer.when))
    if answer.requeue_events:
        yield from _list("Events that lead to another attempt", event_sentences(answer.requeue_events))


def _groups(groups: Sequence[NodeGroup]) -> Iterator[str]:
    yield "| nodes | reason | nearest |"
    yield "|---:|---|---|"
    for group in groups[:MAX_GROUPS]:
        details = "".join(f"<br>{detail.count} × {_escaped(detail.text)}" for detail in group.details)
        others = "" if group.objections == 1 else " and more"
        yield f"| {group.count} | {_escaped(reason_of(group))}{others}{details} | {_escaped(nearest_of(group))} |"
    left = groups[MAX_GROUPS:]
    if left:
        yield f"| {sum(group.count for group in left)} | {counted(len(left), 'other reason')} | |"


def _fixes(fixes: Sequence[Fix], without: str) -> Iterator[str]:
    """Yield the fixes with their commands, or the sentence `without` if there are none."""
    yield ""
    yield "### What would help"
    yield ""
    if not fixes:
        yield _escaped(without)
    for number, fix in enumerate(fixes, 1):
        yield f"{number}. {_escaped(fix.summary)}"
        for command in fix.commands:
            yield ""
            yield "   ```sh"
            yield from (f"   {line}" for line in command.splitlines())
            yield "   ```"


def _list(heading: str, sentences: Iterable[str]) -> Iterator[str]:
    yield ""
    yield f"### {heading}"
    yield ""
    yield from (f"* {_escaped(sentence)}" for sentence in sentences)


def _escaped(text: str) -> str:
    """Return the text with Markdown's own characters escaped."""
    for mark in ("\\", "|", "*", "_", "<", "`"):
        text = text.replace(mark, f"\\{mark}")
    return text
