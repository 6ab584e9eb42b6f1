# SPDX-License-Identifier: Apache-2.0
"""Fixes as kubectl commands.

Most objects are patched in place. An API server lets most of a pod's spec stand as it is; such a pod is written again under its
name, with everything that it has: so are Jobs and claims. Containers are patched by name, so that what is not about scheduling
stays. Pods that move are evicted, while their node takes no pods.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from steersman.fixes.api_rules import CONTROLLER_UID_LABELS, as_new, is_written_again, without_generated_fields
from steersman.fixes.changes import Change, Document, Renewal, merge_patch, strategic_patch
from steersman.fixes.fix import FixKind, ObjectName

_RESTARTED: Final = frozenset({"Deployment", "DaemonSet"})
"""Workloads that replace a pod which waits when they are restarted; a StatefulSet waits for it."""


def commands(
    changes: Sequence[Change],
    edits: Mapping[ObjectName, tuple[Document, Document]],
    refused: Document | None = None,
    absent: Collection[ObjectName] = (),
) -> Iterator[str]:
    """First what is created, then what is patched, an object once, then what is deleted. Nodes are machines, which no command
    here can create. `refused` is a pod that is not in the cluster yet, as it is after the changes; `absent` are other objects
    that are not there yet, which are created as they are after them."""
    created = (manifest for change in changes if change.kind is not FixKind.ADD_NODE for manifest in change.create)
    yield from map(_create, created)
    cordoned = dict.fromkeys(change.moves.source for change in changes if change.moves is not None)
    yield from (f"kubectl cordon {shlex.quote(node)}" for node in cordoned)
    yield from (change.command for change in changes if change.command and change.target is not None)
    for target, (before, after) in edits.items():
        mine = [change for change in changes if change.target == target and not change.command]
        if mine and target in absent:
            yield _create(as_new(after))
        elif mine and after is not refused:
            yield _patched(target, before, after, {change.kind for change in mine})
    if refused is not None:
        yield _create(refused)
    gone = (change for change in changes if change.command and any(name not in absent for name in change.delete))
    yield from (change.command for change in gone)
    renewals = (each for change in changes for each in change.renews if each.target not in absent)
    yield from dict.fromkeys(map(_renewal, renewals))
    yield from (f"kubectl uncordon {shlex.quote(node)}" for node in cordoned)


def deletion(target: ObjectName) -> str:
    """The command that deletes the object, if it is there."""
    return f"kubectl delete {_named(target)} --ignore-not-found"


def _renewal(renewal: Renewal) -> str:
    """The command after which the object, or one in its place, is another one of the same spec."""
    target, maker = renewal
    if maker is None:
        return f"kubectl get {_named(target)} -o json | kubectl replace --force -f -"
    is_restarted = target.kind == "Pod" and maker.kind in _RESTARTED
    return f"kubectl rollout restart {_named(maker)}" if is_restarted else deletion(target)


def _patched(target: ObjectName, before: Document, after: Document, kinds: set[FixKind]) -> str:
    if FixKind.PRIORITY in kinds:
        before = _with_priority(before)
    if not is_written_again(target, kinds):
        return _patch(target, before, after, replaced="")
    if target.kind == "Job":
        before, after = _with_generated_selector(before), without_generated_fields(after)
    orphans = " --cascade=orphan" if target.kind == "StatefulSet" else ""
    return _patch(target, before, after, replaced=f"--force{orphans}")


def _with_priority(document: Document) -> Document:
    """A pod as an API server has it: with the number of its class, which has to go for another class to count."""
    if document["kind"] != "Pod":
        return document
    return {**document, "spec": {"priority": 0, "preemptionPolicy": "", **document.get("spec", {})}}


def _with_generated_selector(job: Document) -> Document:
    """A Job as an API server has it: with a selector and labels for its uid, which have to go for another Job to be made."""
    template = job["spec"]["template"]
    metadata = template.get("metadata") or {}
    labelled = {**metadata, "labels": {**dict.fromkeys(CONTROLLER_UID_LABELS, ""), **(metadata.get("labels") or {})}}
    return {**job, "spec": {"selector": {}, **job["spec"], "template": {**template, "metadata": labelled}}}


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
