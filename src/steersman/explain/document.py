# SPDX-License-Identifier: Apache-2.0
"""Document that answers why a pod is pending or where it is: versioned JSON, the same for files,
records and live clusters.

Made by `explainer`, rendered by `text`, `markdown` and `html`. Field names are Kubernetes', in
camelCase as JSON. The JSON schemas are shipped in `steersman/explain/schemas`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from steersman.api import Condition
from steersman.base import EXPLAIN_VERSION, SCHEMA_DIALECT, document_schema, version_schema
from steersman.explain.fixes import Fix
from steersman.explain.groups import GroupExplanation
from steersman.scheduler.diagnosis import Cause, Explanation, RequeueEvents

KIND: Final = "Explanation"
LIST_KIND: Final = "ExplanationList"


class PodState(StrEnum):
    """State of a pod, for programs; the exit code of `steersman explain` follows from it."""

    PLACED = "Placed"
    """The pod has a node."""
    FITS = "Fits"
    """The pod has no node, but a scheduler would place it now."""
    PENDING = "Pending"
    ERROR = "Error"
    """A plugin or extender fails on the pod."""


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    """Base of the parts of the document."""


class QueuePosition(_Part, frozen=True):
    """Position of a pod in the scheduling queue."""

    #: activeQ, backoffQ, unschedulable or gated; "" in a live cluster, whose queue is not visible,
    #: unless the pod is gated.
    queue: str
    #: Position in the order of QueueSort among all waiting pods that are not gated; 1 is next.
    position: int
    waiting: int
    #: The first few pods ahead, in queue order.
    ahead: tuple[str, ...]
    #: Number of attempts so far; 0 if unknown.
    attempts: int
    #: The position was computed from the pods of the cluster, because the scheduler's queue is not
    #: visible.
    is_estimate: bool


class PoolAnswer(_Part, frozen=True):
    """Whether the pod would fit on one more node of a pool."""

    pool: str
    helps: bool
    #: Why the pod would not fit; "" if it would.
    reason: str = ""


class Waiting(_Part, frozen=True):
    """When a pending pod is tried again, and which expected changes would make it fit."""

    #: None if the pod is in no queue.
    queue: QueuePosition | None
    #: Seconds until the next attempt even if no event requeues the pod; None if unknown, or if
    #: there will be none.
    next_attempt_seconds: float | None
    #: The same as a sentence.
    next_attempt: str
    #: Number of terminating pods that still have a node, and the node that the pod would get once
    #: they are gone; "" if none.
    terminating: int
    node_after_terminating: str
    #: One answer per pool of `ExplainOptions.pools`; None if no pools were given.
    pools: tuple[PoolAnswer, ...] | None = None
    #: Node that the pod gets as time passes, found on a copy; searched only if no fix was found. ""
    #: if there is none.
    node_if_left_alone: str = ""


class ScoreDifference(_Part, frozen=True):
    """One plugin's weighted scores of two nodes."""

    plugin: str
    node: int
    other: int

    @property
    def difference(self) -> int:
        return self.node - self.other


class NodeComparison(_Part, frozen=True):
    """Total scores of a pod's node and of the best other node."""

    total: int | None
    #: Number of nodes with the best total.
    ties: int
    #: "" if no other node fits.
    runner_up: str
    runner_up_total: int | None
    #: Plugins that score the two nodes differently, largest difference first.
    differences: tuple[ScoreDifference, ...]


class PlacementMargin(_Part, frozen=True):
    """How far the node of a placed pod is ahead of the other nodes."""

    #: Scores when the pod was placed; None if unknown.
    then: NodeComparison | None
    #: Scores now, as if the pod had no node yet.
    now: NodeComparison
    #: Node that the pod would get now; "" if it fits nowhere.
    goes_to: str
    would_stay: bool
    #: Node that the pod would get if its node were cordoned, found on a copy; "" if it would fit
    #: nowhere.
    if_cordoned: str
    #: What would bring the pod to `ExplainOptions.target`, one sentence each.
    changes: tuple[str, ...] = ()


class PodExplanation(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Answer about one pod: its state, the cause, what would help, and when it is tried again."""

    pod: str
    #: Other pods of the same controller that wait for the same cause; this answer is about them
    #: too.
    others: tuple[str, ...] = ()
    #: Such as `ReplicaSet web-7d9f`; "" for a bare pod.
    controller: str = ""
    scheduler_name: str
    phase: str
    #: Node of the pod; "" for a pending pod.
    node: str
    nominated_node: str
    #: The conditions of the pod's status.
    conditions: tuple[Condition, ...]
    state: PodState
    #: The state as a sentence.
    summary: str
    cause: Cause
    #: State of the pod's group; None if the pod is placed or scheduled on its own.
    group: GroupExplanation | None = None
    #: The smallest changes that make the pod schedule; None if they were not searched.
    fixes: tuple[Fix, ...] | None = None
    #: Next attempt of a pending pod.
    when: Waiting | None = None
    #: Margin of a placed pod.
    placed: PlacementMargin | None = None
    #: Events that would requeue a pending pod, by plugin.
    requeue_events: tuple[RequeueEvents, ...] = msgspec.field(default=(), name="wakers")
    #: Limits of this answer, such as objects that could not be read.
    notes: tuple[str, ...] = ()
    #: Every node and plugin: at the time of placement for a pod that the simulation placed,
    #: otherwise now, as if the pod had no node.
    explanation: Explanation

    @property
    def is_pending(self) -> bool:
        return self.state in (PodState.PENDING, PodState.ERROR)

    def to_dict(self) -> dict[str, Any]:
        """Return the document as plain lists, dicts and values."""
        fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return {"apiVersion": EXPLAIN_VERSION, "kind": KIND, **fields}

    def text(self, limit: int | None = None, width: int | None = None) -> str:
        """Return the answer as text: at most `limit` nodes per table, lines folded at `width`; None
        for no limit."""
        from steersman.explain.text import answer_text

        return answer_text(self, limit, width)

    def _repr_html_(self) -> str:
        from steersman.explain.html import answer_html

        return answer_html(self)

    def markdown(self) -> str:
        """Return the answer as Markdown, for issues and chats."""
        from steersman.explain.markdown import answer_markdown

        return answer_markdown(self)


def answers_document(answers: Sequence[PodExplanation]) -> dict[str, Any]:
    """Return several answers as one document."""
    return {"apiVersion": EXPLAIN_VERSION, "kind": LIST_KIND, "items": [answer.to_dict() for answer in answers]}


def schema() -> dict[str, Any]:
    """Return the JSON schema of the document about one pod."""
    return document_schema(PodExplanation, EXPLAIN_VERSION, KIND)


def list_schema() -> dict[str, Any]:
    """Return the JSON schema of the document about several pods."""
    one = schema()
    items = {key: value for key, value in one.items() if key not in ("$schema", "$defs")}
    return {
        "$schema": SCHEMA_DIALECT,
        "title": LIST_KIND,
        "type": "object",
        "properties": {
            "apiVersion": version_schema(EXPLAIN_VERSION),
            "kind": {"const": LIST_KIND},
            "items": {"type": "array", "items": {"$ref": f"#/$defs/{KIND}Document"}},
        },
        "required": ["apiVersion", "kind", "items"],
        "additionalProperties": False,
        "$defs": {**one["$defs"], f"{KIND}Document": items},
    }
