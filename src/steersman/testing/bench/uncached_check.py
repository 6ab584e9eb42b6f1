# SPDX-License-Identifier: Apache-2.0
"""Debug mode that recomputes evaluations node by node without caches and compares them.

The scalar engine caches nothing between pods and calls every plugin for every node, so that any
stale column, count or signature is found; it takes about 30 µs per node and pod.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.base import InputError, SeededRng
from steersman.framework import PodInfo
from steersman.scheduler.assembly import EvaluationObserver, Scheduler
from steersman.scheduler.cycle import SchedulingCycle
from steersman.scheduler.engine import Evaluation
from steersman.scheduler.state import StateInvariantError
from steersman.testing.bench.host import WorkloadError
from steersman.testing.conformance.scenarios import evaluation_document

SAMPLED: Final = "percentageOfNodesToScore leaves nodes out, in an order of its own; there is nothing to compare with"


class UncachedCheck:
    """Compares one in `every` evaluations with an uncached one; `WorkloadError` if different."""

    def __init__(self, scheduler: Scheduler, every: int = 1) -> None:
        if scheduler.options.configuration.percentage_of_nodes_to_score not in (None, 0, 100):
            raise InputError(SAMPLED)
        self._scheduler = scheduler
        self._every = every
        self._seen = 0
        #: Number of compared evaluations.
        self.compared = 0
        self._plain = SchedulingCycle(
            scheduler.cache, scheduler.profiles, scheduler.nominations, SeededRng(0), scalar=True
        )
        scheduler.observe(EvaluationObserver(self._observe))

    def finish(self) -> tuple[str, ...]:
        """Validate all columns against nodes and pods, and return a note on what was compared."""
        try:
            self._scheduler.cache.validate_state()
        except StateInvariantError as error:
            raise WorkloadError(f"the columns are not what nodes and pods make them: {error}") from error
        return (f"{self.compared} evaluations are the same without caches",)

    def _observe(self, pod: PodInfo, evaluation: Evaluation) -> None:
        self._seen += 1
        if self._seen % self._every == 0:
            self._compare(pod, evaluation)

    def _compare(self, pod: PodInfo, evaluation: Evaluation) -> None:
        profile = self._scheduler.profiles[pod.scheduler_name]
        table = self._scheduler.cache.nodes
        nodes = [table.names[row] for row in table.live_rows()]
        kept = _document(evaluation, nodes)
        fresh = _document(self._plain.evaluate(profile, pod), nodes)
        self.compared += 1
        if kept != fresh:
            where = ", ".join(_differences(kept, fresh))
            raise WorkloadError(f"pod {pod.key} is evaluated differently without caches: {where}")


def _document(evaluation: Evaluation, nodes: list[str]) -> dict[str, Any]:
    """Return statuses and scores of an evaluation in a form in which engines are comparable."""
    document = evaluation_document(evaluation, nodes)
    for group in document.pop("rejected", ()):
        for node in group["nodes"]:
            document[f"status of {node}"] = (group["code"], group["plugin"], group["reasons"])
    for plugin in document.get("scores", {}).pop("plugins", ()):
        document[f"scores of {plugin['name']}"] = (plugin["weight"], plugin["norm"])
    return document


def _differences(kept: dict[str, Any], fresh: dict[str, Any]) -> list[str]:
    names = [name for name in {**kept, **fresh} if kept.get(name) != fresh.get(name)]
    return names[:5]
