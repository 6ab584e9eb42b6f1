# SPDX-License-Identifier: Apache-2.0
"""The answer to "why is my pod pending, or there?" as data: a versioned JSON document, the same for every input.

Made by `question`, printed by `text` and `markdown`. All names are Kubernetes'; `to_dict` gives them in camelCase. The JSON
schemas are shipped in `steersman/why/schemas`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from steersman.api import Condition
from steersman.explain import Cause, Explanation, Waker
from steersman.fixes import Fix

API_VERSION: Final = "steersman.dev/explain/v1"
KIND: Final = "Explanation"
LIST_KIND: Final = "ExplanationList"
SCHEMA_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class PodState(StrEnum):
    """How a pod stands, for programs; decides the exit code."""

    PLACED = "Placed"
    """The pod has a node."""
    FITS = "Fits"
    """The pod has no node, but a scheduler would place it now."""
    PENDING = "Pending"
    ERROR = "Error"
    """Something is broken: a plugin fails on it."""


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    """Base of all parts."""


class QueuePosition(_Part, frozen=True):
    """Where a pod waits."""

    #: activeQ, backoffQ, unschedulable or gated; "" in a live cluster for all but gated, whose scheduler does not tell.
    queue: str
    #: By the order of QueueSort among all pods that wait and are not held back; 1 is next.
    position: int
    waiting: int
    #: Some of the pods ahead, the first first.
    ahead: tuple[str, ...]
    #: How often it was tried; 0 where that is not known.
    attempts: int
    #: Not the queue of the scheduler, but what its order would be.
    is_estimate: bool


class PoolAnswer(_Part, frozen=True):
    """Whether one more node of a pool would take a pod."""

    pool: str
    helps: bool
    #: Why not; "" if it helps.
    reason: str = ""


class Waiting(_Part, frozen=True):
    """When a pending pod will be tried, and what would help without anybody's doing."""

    #: None: it is in no queue.
    queue: QueuePosition | None
    #: Seconds from now until it is tried again, whatever happens; None: not known, or never.
    next_attempt_seconds: float | None
    #: The same in a sentence, with what is not known.
    next_attempt: str
    #: Pods with a node that are being deleted, and where the pod would go once they are gone; "": that does not help.
    terminating: int
    node_after_terminating: str
    #: None: no pools were given.
    pools: tuple[PoolAnswer, ...] | None = None
    #: Where the pod goes if nobody changes anything, tried on a copy; looked for where no fix was found. "": nowhere.
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
    """The totals of a pod's node and of the best of the others."""

    total: int | None
    #: Nodes with the best total.
    ties: int
    #: "" if no other node fits.
    runner_up: str
    runner_up_total: int | None
    #: The plugins that differ between the two, the greatest difference first.
    differences: tuple[ScoreDifference, ...]


class Standing(_Part, frozen=True):
    """How the node of a placed pod does against the others."""

    #: When the pod was placed; None: that is not known.
    then: NodeComparison | None
    #: As if the pod had no node yet.
    now: NodeComparison
    #: Where the pod would go now; "" if nowhere.
    goes_to: str
    would_stay: bool
    #: Where it would go if its node were cordoned; "" if nowhere. Tried on a copy.
    if_cordoned: str
    #: What would bring it to the node that was asked about, one sentence each.
    changes: tuple[str, ...] = ()


class PodExplanation(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A pod as it stands, why, what would help, and when it is tried again."""

    pod: str
    #: Other pods of the same controller that wait for the same cause; they are explained with this one.
    others: tuple[str, ...] = ()
    #: Such as `ReplicaSet web-7d9f`; "" for a pod without.
    controller: str = ""
    scheduler_name: str
    phase: str
    #: Where the pod is; "" for a pending one.
    node: str
    nominated_node: str
    #: As the API server shows them.
    conditions: tuple[Condition, ...]
    state: PodState
    #: How the pod stands, in a sentence.
    summary: str
    cause: Cause
    #: The smallest changes that make it schedule; None: they were not looked for.
    fixes: tuple[Fix, ...] | None = None
    #: Of a pending pod.
    when: Waiting | None = None
    #: Of a placed pod.
    placed: Standing | None = None
    #: By what a pending pod would be tried again.
    wakers: tuple[Waker, ...] = ()
    #: What the reader should know before believing the rest.
    notes: tuple[str, ...] = ()
    #: Every node and plugin, now. Of a pod that the simulation has placed: when it was; of another one that has a node: as if
    #: it had none yet.
    explanation: Explanation

    @property
    def is_pending(self) -> bool:
        return self.state in (PodState.PENDING, PodState.ERROR)

    def to_dict(self) -> dict[str, Any]:
        """For programs: plain lists, dicts and values."""
        fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return {"apiVersion": API_VERSION, "kind": KIND, **fields}

    def text(self, most: int | None = None, width: int | None = None) -> str:
        """For people, with `most` nodes in the tables, None: all, and lines of `width`, None: as long as they are."""
        from steersman.why.text import answer_text

        return answer_text(self, most, width)

    def markdown(self) -> str:
        """For issues and chats."""
        from steersman.why.markdown import answer_markdown

        return answer_markdown(self)


def answers_document(answers: Sequence[PodExplanation]) -> dict[str, Any]:
    """Several answers as one document."""
    return {"apiVersion": API_VERSION, "kind": LIST_KIND, "items": [answer.to_dict() for answer in answers]}


def schema() -> dict[str, Any]:
    """The JSON schema of the document of one pod."""
    (reference,), components = msgspec.json.schema_components([PodExplanation], ref_template="#/$defs/{name}")
    own = components.pop(reference["$ref"].rpartition("/")[2])
    header = {"apiVersion": {"const": API_VERSION}, "kind": {"const": KIND}}
    return {
        "$schema": SCHEMA_DIALECT,
        "title": KIND,
        "description": own.get("description", ""),
        "type": "object",
        "properties": {**header, **own["properties"]},
        "required": ["apiVersion", "kind", *own["properties"]],
        "additionalProperties": False,
        "$defs": components,
    }


def list_schema() -> dict[str, Any]:
    """The JSON schema of the document of several pods."""
    one = schema()
    items = {key: value for key, value in one.items() if key not in ("$schema", "$defs")}
    return {
        "$schema": SCHEMA_DIALECT,
        "title": LIST_KIND,
        "type": "object",
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": LIST_KIND},
            "items": {"type": "array", "items": {"$ref": f"#/$defs/{KIND}Document"}},
        },
        "required": ["apiVersion", "kind", "items"],
        "additionalProperties": False,
        "$defs": {**one["$defs"], f"{KIND}Document": items},
    }
