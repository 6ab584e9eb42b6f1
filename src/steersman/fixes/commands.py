# SPDX-License-Identifier: Apache-2.0
"""Fixes as kubectl commands.

Most objects are patched in place. An API server lets most of a pod's spec stand as it is; such a pod is written again under its
name, with everything that it has: so are Jobs and claims. Containers are patched by name, so that what is not about scheduling
stays. Pods that move are evicted, while their node takes no pods.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from steersman.fixes.changes import Change, Document, merge_patch, strategic_patch
from steersman.fixes.fix import FixKind, ObjectName

_IN_PLACE: Final = frozenset({FixKind.TOLERATION, FixKind.SCHEDULING_GATES})
"""What may be changed in a pod that exists."""
_IMMUTABLE: Final = frozenset({"Pod", "Job", "PersistentVolumeClaim", "ResourceClaim", "ResourceClaimTemplate"})
_OF_CLAIMS: Final = frozenset({FixKind.CLAIM_SIZE, FixKind.STORAGE_CLASS})
"""What may not be changed in a StatefulSet that exists; its pods stay when it is written again."""
_RESTARTED: Final = frozenset({"Deployment", "DaemonSet"})
"""Workloads that replace a pod which waits when they are restarted; a StatefulSet waits for it."""
_CONTROLLER_UID: Final = {"controller-uid": "", "batch.kubernetes.io/controller-uid": ""}
"""The labels by which an API server ties pods to one Job."""


def commands(
    changes: Sequence[Change], edits: Mapping[ObjectName, tuple[Document, Document]], refused: Document | None = None
) -> Iterator[str]:
    """First what is created, then what is patched, an object once, then what is deleted. Nodes are machines, which no command
    here can create. `refused` is a pod that is not in the cluster yet, as it is after the changes."""
    created = (manifest for change in changes if change.kind is not FixKind.ADD_NODE for manifest in change.create)
    yield from map(_create, created)
    cordoned = dict.fromkeys(change.cordoned for change in changes if change.cordoned)
    yield from (f"kubectl cordon {shlex.quote(node)}" for node in cordoned)
    yield from (change.command for change in changes if change.command and change.target is not None)
    for target, (before, after) in edits.items():
        mine = [change for change in changes if change.target == target and not change.command]
        if mine and after is not refused:
            yield _patched(target, before, after, {change.kind for change in mine})
    if refused is not None:
        yield _create(refused)
    yield from (change.command for change in changes if change.delete is not None)
    yield from dict.fromkeys(command for change in changes for command in change.then)
    yield from (f"kubectl uncordon {shlex.quote(node)}" for node in cordoned)


def deletion(target: ObjectName) -> str:
    """The command that deletes the object, if it is there."""
    return f"kubectl delete {_named(target)} --ignore-not-found"


def renewal(pod: ObjectName, workload: ObjectName | None) -> str:
    """The command after which the pod, or one in its place, is another one of the same spec."""
    if workload is None:
        return f"kubectl get {_named(pod)} -o json | kubectl replace --force -f -"
    return f"kubectl rollout restart {_named(workload)}" if workload.kind in _RESTARTED else deletion(pod)


def _patched(target: ObjectName, before: Document, after: Document, kinds: set[FixKind]) -> str:
    if FixKind.PRIORITY in kinds:
        before = _with_priority(before)
    if target.kind == "Job":
        before, after = _with_generated_selector(before), _with_template_labels(after, {})
    if target.kind == "StatefulSet" and kinds & _OF_CLAIMS:
        return _patch(target, before, after, replaced="--force --cascade=orphan")
    is_immutable = target.kind in _IMMUTABLE and not (target.kind == "Pod" and kinds <= _IN_PLACE)
    return _patch(target, before, after, replaced="--force" if is_immutable else "")


def _with_priority(document: Document) -> Document:
    """A pod as an API server has it: with the number of its class, which has to go for another class to count."""
    if document["kind"] != "Pod":
        return document
    return {**document, "spec": {"priority": 0, "preemptionPolicy": "", **document.get("spec", {})}}


def _with_generated_selector(job: Document) -> Document:
    """A Job as an API server has it: with a selector and labels for its uid, which have to go for another Job to be made."""
    served = _with_template_labels(job, _CONTROLLER_UID)
    return {**served, "spec": {"selector": {}, **served["spec"]}}


def _with_template_labels(job: Document, labels: Document) -> Document:
    template = job["spec"]["template"]
    metadata = template.get("metadata") or {}
    labelled = {**metadata, "labels": {**labels, **(metadata.get("labels") or {})}}
    return {**job, "spec": {**job["spec"], "template": {**template, "metadata": labelled}}}


def _create(manifest: Document) -> str:
    return f"echo {_quoted(manifest)} | kubectl apply -f -"


def _patch(target: ObjectName, before: Document, after: Document, *, replaced: str) -> str:
    """In place, or, where an API server would not allow that, with these options of `kubectl replace`."""
    strategic = strategic_patch(before, after)
    form = "merge" if strategic is None else "strategic"
    patch = _quoted(merge_patch(before, after) if strategic is None else strategic)
    if not replaced:
        return f"kubectl patch {_named(target)} --type={form} -p {patch}"
    local = f"kubectl patch --local -f - --type={form} -p {patch} -o json"
    return f"kubectl get {_named(target)} -o json | {local} | kubectl replace {replaced} -f -"


def _named(target: ObjectName) -> str:
    """The object, as most commands take it."""
    namespace = f" -n {shlex.quote(target.namespace)}" if target.namespace and target.namespace != "default" else ""
    return f"{target.kind.lower()} {shlex.quote(target.name)}{namespace}"


def _quoted(document: Document) -> str:
    return shlex.quote(json.dumps(document, separators=(",", ":")))
