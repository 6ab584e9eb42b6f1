# SPDX-License-Identifier: Apache-2.0
"""The part of scheduler and kubelets in a comparison: one act at a time, in an order that names made by chance do not change.

Both runs of a scenario, with kube-controller-manager and with our controllers, are played by these rules, and the controllers
come to rest after every act. So nothing depends on who is faster.

| `do` | a pod that fits the rule |
|---|---|
| `ready` | is bound and becomes Running and ready; without a rule, all pods do |
| `unready` | runs, and is not ready |
| `succeed`, `fail` | is bound and ends; `fail` with `exitCode` |
| `pending` | is bound and stays pending |
| `unscheduled` | is not even bound |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from tests.controllers.comparison.scenario import Document, KubeletRule

ENDED: Final = ("Succeeded", "Failed")
_DEFAULT: Final = KubeletRule(do="ready")
_PINNED: Final = "metadata.name"
_REVISION: Final = "deployment.kubernetes.io/revision"


class Act(msgspec.Struct, frozen=True):
    """What happens to one pod next: it is removed, or bound (if `node`) and its status changed (if `status`)."""

    pod: Document
    removed: bool = False
    node: str = ""
    status: Document = {}


class Kubelets:
    """Follows the rules; remembers which pods it let go, since a finalizer may hold them."""

    def __init__(self, rules: Sequence[KubeletRule] = ()) -> None:
        self.rules = rules
        self._released: set[str] = set()
        self._served: dict[int, set[str]] = {}

    def follow(self, rules: Sequence[KubeletRule]) -> None:
        self.rules = rules
        self._served = {}

    def next_act(
        self, pods: Sequence[Document], replica_sets: Sequence[Document], nodes: Sequence[Document]
    ) -> Act | None:
        """None when every pod is as the rules want it."""
        revisions = {_uid(found): _revision(found) for found in replica_sets}
        for pod in sorted(pods, key=lambda pod: _order(pod, revisions)):
            act = self._act(pod, nodes)
            if act is not None:
                return act
        return None

    def _act(self, pod: Document, nodes: Sequence[Document]) -> Act | None:
        rule = self._rule(pod)
        if "deletionTimestamp" in pod["metadata"]:
            return self._release(pod) if rule.terminates else None
        if rule.do == "unscheduled" or pod["status"].get("phase") in ENDED:
            return None
        node = "" if pod["spec"].get("nodeName") else chosen_node(pod, nodes)
        if node is None:
            return None
        status = _status(pod, rule)
        if not node and not status:
            return None
        return Act(pod, node=node, status=status)

    def _release(self, pod: Document) -> Act | None:
        if _uid(pod) in self._released:
            return None
        self._released.add(_uid(pod))
        return Act(pod, removed=True)

    def _rule(self, pod: Document) -> KubeletRule:
        for number, rule in enumerate(self.rules):
            if not _fits(rule, pod):
                continue
            served = self._served.setdefault(number, set())
            if rule.most is None or _uid(pod) in served or len(served) < rule.most:
                served.add(_uid(pod))
                return rule
        return _DEFAULT


def chosen_node(pod: Document, nodes: Sequence[Document]) -> str | None:
    """The node that a DaemonSet pinned the pod to, else the first by name that takes pods; None if there is none."""
    pinned = _pinned_node(pod)
    if pinned:
        return pinned
    names = [node["metadata"]["name"] for node in nodes if not _refuses(node, pod)]
    return min(names, default=None)


def _pinned_node(pod: Document) -> str:
    required = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = required.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", ())
    for field in (field for term in terms for field in term.get("matchFields", ())):
        if field["key"] == _PINNED:
            return str(field["values"][0])
    return ""


def _refuses(node: Document, pod: Document) -> bool:
    """Cordoned, tainted or without the labels that are asked for. Nothing else keeps pods off nodes in scenarios."""
    labels = node["metadata"].get("labels", {})
    wanted = pod["spec"].get("nodeSelector", {})
    return (
        bool(node["spec"].get("unschedulable"))
        or bool(node["spec"].get("taints"))
        or any(labels.get(name) != value for name, value in wanted.items())
    )


def _fits(rule: KubeletRule, pod: Document) -> bool:
    labels = pod["metadata"].get("labels", {})
    images = [container["image"] for container in pod["spec"]["containers"]]
    return (
        all(labels.get(name) == value for name, value in rule.labels.items())
        and (not rule.image or rule.image in images)
        and (not rule.node or pod["spec"].get("nodeName") == rule.node)
    )


def _order(pod: Document, revisions: dict[str, int]) -> tuple[object, ...]:
    """Those that go first; then pods of older revisions; then by node and by name, whose random end decides between equals."""
    owners = [owner["uid"] for owner in pod["metadata"].get("ownerReferences", ())]
    revision = max((revisions.get(uid, 0) for uid in owners), default=0)
    return ("deletionTimestamp" not in pod["metadata"], revision, _pinned_node(pod), pod["metadata"]["name"])


def _status(pod: Document, rule: KubeletRule) -> Document:
    """The fields of the status that change; empty if it is as wanted."""
    if rule.do == "pending":
        return {}
    phase = {"succeed": "Succeeded", "fail": "Failed"}.get(rule.do, "Running")
    ready = "True" if rule.do == "ready" else "False"
    if pod["status"].get("phase") == phase and _condition(pod, "Ready") == ready:
        return {}
    statuses = {"PodScheduled": "True", "ContainersReady": ready, "Ready": ready}
    return {
        "phase": phase,
        "startTime": pod["status"].get("startTime", "NOW-0"),
        "conditions": [
            {"type": kind, "status": status, "lastTransitionTime": "NOW-0"} for kind, status in statuses.items()
        ],
        "containerStatuses": [_container_status(found, rule) for found in pod["spec"]["containers"]],
    }


def _container_status(container: Document, rule: KubeletRule) -> Document:
    if rule.do in ("succeed", "fail"):
        code = rule.exit_code if rule.do == "fail" else 0
        state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": "NOW-0"}}
    else:
        state = {"running": {"startedAt": "NOW-0"}}
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": rule.do == "ready",
        "restartCount": 0,
        "state": state,
    }


def _condition(obj: Document, kind: str) -> str:
    for found in obj["status"].get("conditions", ()):
        if found["type"] == kind:
            return str(found["status"])
    return ""


def _revision(replica_set: Document) -> int:
    return int(replica_set["metadata"].get("annotations", {}).get(_REVISION, 0))


def _uid(obj: Document) -> str:
    return str(obj["metadata"]["uid"])
