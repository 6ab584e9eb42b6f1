# SPDX-License-Identifier: Apache-2.0
"""Simulations and results in notebooks: a summary, utilisation of the cluster, the first pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from steersman.base.report import heading, paragraph, piece, shares, small_table
from steersman.scheduler.diagnosis import amount

if TYPE_CHECKING:
    from steersman.simulation.results.result import Result
    from steersman.simulation.results.utilisation import Utilisation

_MAX_RESOURCES: Final = 8


def result_html(result: Result) -> str:
    """Return the result of a run as HTML: counts, bars per resource, pending pods with messages,
    placements."""
    summary = result.summary
    parts = [heading(f"{summary.scheduled:,} of {summary.pods:,} pods scheduled on {summary.nodes:,} nodes")]
    numbers = f"{summary.pending:,} pending, {summary.preempted:,} preempted, {summary.decisions:,} attempts"
    parts.append(paragraph(f"{numbers} in {summary.seconds:g} s of virtual time"))
    if result.stopped:
        parts.append(paragraph(f"stopped: {result.stopped}"))
    return piece(*parts, *_utilisation(result.utilisation), *_pods(result))


def simulation_html(result: Result) -> str:
    """Return a simulation's current result as HTML."""
    summary = result.summary
    waiting = f"{summary.scheduled:,} of {summary.pods:,} pods have a node"
    where = f"Simulation of {summary.nodes:,} nodes at {summary.seconds:g} s"
    return piece(heading(where), paragraph(waiting), *_utilisation(result.utilisation))


def _utilisation(utilisation: Utilisation) -> Iterator[str]:
    offered = {name: usage for name, usage in utilisation.cluster.items() if usage.allocatable}
    shown = dict(list(offered.items())[:_MAX_RESOURCES])
    if shown:
        values = {name: usage.fraction for name, usage in shown.items()}
        amounts = {
            name: f"{amount(name, usage.requested)} of {amount(name, usage.allocatable)}"
            for name, usage in shown.items()
        }
        yield shares(values, amounts)


def _pods(result: Result) -> Iterator[str]:
    if result.pending:
        yield heading("Pending")
        rows = [(p.pod, p.reason, p.attempts, p.message) for p in result.pending.values()]
        yield small_table(("pod", "state", "attempts", "message"), rows)
    placed = [(p.pod, p.node, p.at, p.attempts) for p in result.placements.values() if not p.is_pending]
    if placed:
        yield heading("Placed")
        yield small_table(("pod", "node", "at (s)", "attempts"), placed)
