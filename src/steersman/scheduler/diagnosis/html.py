# SPDX-License-Identifier: Apache-2.0
"""Renders an explanation as HTML for notebooks: the outcome, weighted scores of the nodes that fit,
objections to the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from steersman.base.report import heading, paragraph, piece, small_table

if TYPE_CHECKING:
    from steersman.scheduler.diagnosis.explanation import Explanation


def explanation_html(explanation: Explanation) -> str:
    """Return every node × plugin of one pod; tables are cut after some rows."""
    return piece(
        heading(f"Pod {explanation.pod}"), *_outcome(explanation), *_scores(explanation), *_objections(explanation)
    )


def _outcome(explanation: Explanation) -> Iterator[str]:
    if not explanation.node:
        yield paragraph(explanation.cause.sentence)
    where = f" on {explanation.node}" if explanation.node else ""
    yield paragraph(f"{explanation.outcome}{where}" + (f": {explanation.message}" if explanation.message else ""))


def _scores(explanation: Explanation) -> Iterator[str]:
    fitting = sorted((node for node in explanation.nodes if node.fits), key=lambda node: -(node.total or 0))
    if not fitting:
        return
    yield paragraph(f"Fits on {len(fitting):,} of {len(explanation.nodes):,} nodes; weighted scores:")
    plugins = [(score.plugin, score.weight) for score in fitting[0].scores]
    columns = ["node", "total", *(f"{plugin} ×{weight}" for plugin, weight in plugins)]
    rows = [
        (
            f"{node.node} ←" if node.node == explanation.node else node.node,
            node.total,
            *(s.weighted for s in node.scores),
        )
        for node in fitting
        if len(node.scores) == len(plugins)
    ]
    yield small_table(columns, rows)


def _objections(explanation: Explanation) -> Iterator[str]:
    rejected = [(node.node, "; ".join(map(str, node.verdicts))) for node in explanation.nodes if not node.fits]
    if rejected:
        yield paragraph(f"Does not fit on {len(rejected):,} nodes:")
        yield small_table(("node", "rejected by"), rejected)
