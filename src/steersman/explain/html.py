# SPDX-License-Identifier: Apache-2.0
"""Renders an answer as HTML for notebooks: the cause, groups of nodes, fixes, the next attempt, or
why the pod is on its node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from steersman.base.report import heading, paragraph, piece, small_table
from steersman.explain.document import PodExplanation
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
from steersman.scheduler.diagnosis import nearest_of, reason_of


def answer_html(answer: PodExplanation) -> str:
    """Return the answer as one output of a notebook; tables are cut after some rows."""
    return piece(heading(f"Pod {title(answer)}"), *_parts(answer))


def _parts(answer: PodExplanation) -> Iterator[str]:
    for text in (lead(answer), answer.explanation.message, *conditions(answer)):
        if text:
            yield paragraph(text)
    yield from (paragraph(f"note: {note}") for note in answer.notes)
    if answer.group is not None:
        yield from _list(f"PodGroup {answer.group.group}", group_sentences(answer.group))
    if answer.cause.groups and answer.is_pending:
        rows = [(group.count, reason_of(group), nearest_of(group)) for group in answer.cause.groups]
        yield small_table(("nodes", "reason", "nearest"), rows)
    if answer.placed is not None:
        yield from _list("Why here", margin_sentences(answer.node, answer.placed))
    if answer.fixes:
        rows_of_fixes = [(fix.summary, "\n".join(fix.commands)) for fix in answer.fixes]
        yield small_table(("what would help", "commands"), rows_of_fixes)
    elif placed_later(answer):
        yield paragraph(placed_later(answer))
    if answer.when is not None:
        yield from _list("Next attempt", waiting_sentences(answer.when))
    if answer.requeue_events:
        yield from _list("Events that lead to another attempt", event_sentences(answer.requeue_events))


def _list(name: str, sentences: Iterable[str]) -> Iterator[str]:
    yield heading(name)
    yield from map(paragraph, sentences)
