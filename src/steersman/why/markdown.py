# SPDX-License-Identifier: Apache-2.0
"""An answer as Markdown, to be pasted into an issue or a chat: the cause, groups of nodes, fixes with their commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from steersman.explain import NodeGroup
from steersman.fixes import Fix
from steersman.printable import printable
from steersman.why.answer import PodExplanation
from steersman.why.text import (
    MOST_GROUPS,
    conditions,
    goes_anyway,
    nearest_of,
    reason_of,
    standing_lines,
    title,
    waking_lines,
    when_lines,
)

NOTHING_HELPS: Final = "No change was found that makes it schedule."


def answer_markdown(answer: PodExplanation) -> str:
    """The answer; every table and list is short, whatever the size of the cluster."""
    return "\n".join(map(printable, _lines(answer))) + "\n"


def _lines(answer: PodExplanation) -> Iterator[str]:
    yield f"## Pod {_escaped(title(answer))}"
    yield ""
    yield f"**{_escaped(answer.cause.sentence if answer.is_pending else answer.summary)}**"
    for text in (answer.explanation.message, *conditions(answer)):
        if text:
            yield ""
            yield _escaped(text)
    if answer.notes:
        yield ""
        yield from (f"* note: {_escaped(note)}" for note in answer.notes)
    if answer.cause.groups and answer.is_pending:
        yield ""
        yield from _groups(answer.cause.groups)
    if answer.placed is not None:
        yield from _list("Why here", standing_lines(answer.node, answer.placed))
    if answer.fixes is not None and answer.is_pending:
        yield from _fixes(answer.fixes, goes_anyway(answer) or NOTHING_HELPS)
    if answer.when is not None:
        yield from _list("When", list(when_lines(answer.when))[1:])
    if answer.wakers:
        yield from _list("What would have it tried again", list(waking_lines(answer.wakers))[1:])


def _groups(groups: Sequence[NodeGroup]) -> Iterator[str]:
    yield "| nodes | reason | nearest |"
    yield "|---:|---|---|"
    for group in groups[:MOST_GROUPS]:
        details = "".join(f"<br>{detail.count} × {_escaped(detail.text)}" for detail in group.details)
        others = "" if group.objections == 1 else " and more"
        yield f"| {group.count} | {_escaped(reason_of(group))}{others}{details} | {_escaped(nearest_of(group))} |"
    left = groups[MOST_GROUPS:]
    if left:
        yield f"| {sum(group.count for group in left)} | {len(left)} other reasons | |"


def _fixes(fixes: Sequence[Fix], without: str) -> Iterator[str]:
    """The fixes with their commands; `without` is what to say where there are none."""
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


def _list(heading: str, lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    yield ""
    yield f"### {heading}"
    yield ""
    yield from (f"* {_escaped(line.strip())}" for line in lines)


def _escaped(text: str) -> str:
    """Marks that Markdown would take for its own."""
    for mark in ("\\", "|", "*", "_", "<", "`"):
        text = text.replace(mark, f"\\{mark}")
    return text
