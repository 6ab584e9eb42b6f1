"""What examining nodes came to, whichever way they were examined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steersman.cycle.evaluation import NodeStatuses
from steersman.framework.status import Status, unresolvable
from steersman.preemption.candidates import Candidate, Choice

REASON_NOT_HELPFUL = "Preemption is not helpful for scheduling"
#: Of nodes whose rejection removing pods cannot resolve.
NOT_HELPFUL: Status = unresolvable(REASON_NOT_HELPFUL)


@dataclass(frozen=True, slots=True)
class DryRuns:
    """Made by `plain_search` and `column_dry_run`."""

    all_nodes: int
    #: Number of nodes whose rejection might be resolved.
    examined: int
    #: Nodes that would do. With `detailed` searches all of them, otherwise those that are known in full.
    candidates: Sequence[Candidate]
    candidate_count: int
    choice: Choice | None
    #: Why other examined nodes would not do.
    statuses: NodeStatuses
