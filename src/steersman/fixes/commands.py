# SPDX-License-Identifier: Apache-2.0
"""Fixes as kubectl commands.

Most objects are patched in place. An API server lets most of a pod's spec stand as it is; such a pod is written again under its
name, with everything that it has: so is a Job. Containers are patched by name, so that what is not about scheduling stays.
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
_IMMUTABLE: Final = ("Pod", "Job")
_CONTROLLER_UID: Final = {"controller-uid": "", "batch.kubernetes.io/controller-uid": ""}
"""The labels by which an API server ties pods to one Job."""


def commands(changes: Sequence[Change], edits: Mapping[ObjectName, tuple[Document, Document]]) -> Iterator[str]:
    """First what is created, then what is patched, an object once, then what is deleted. Nodes are machines, which no command
    here can create."""
    created = (change.create for change in changes if change.create is not None and change.kind is not FixKind.ADD_NODE)
    yield from map(_create, created)
    yield from (change.command for change in changes if change.command and change.target is not None)
    for target, (before, after) in edits.items():
        mine = [change for change in changes if change.target == target and not change.command]
        if mine:
            in_place = target.kind not in _IMMUTABLE or (
                target.kind == "Pod" and all(change.kind in _IN_PLACE for change in mine)
            )
            if any(change.kind is FixKind.PRIORITY for change in mine):
                before = _with_priority(before)
            if target.kind == "Job":
                before, after = _with_generated_selector(before), _with_template_labels(after, {})
            yield _patch(target, before, after, in_place=in_place)
    yield from (change.command for change in changes if change.delete is not None)


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


def _patch(target: ObjectName, before: Document, after: Document, *, in_place: bool) -> str:
    strategic = strategic_patch(before, after)
    form = "merge" if strategic is None else "strategic"
    patch = _quoted(merge_patch(before, after) if strategic is None else strategic)
    namespace = f" -n {shlex.quote(target.namespace)}" if target.namespace and target.namespace != "default" else ""
    what = f"{target.kind.lower()} {shlex.quote(target.name)}{namespace}"
    if in_place:
        return f"kubectl patch {what} --type={form} -p {patch}"
    local = f"kubectl patch --local -f - --type={form} -p {patch} -o json"
    return f"kubectl get {what} -o json | {local} | kubectl replace --force -f -"


def _quoted(document: Document) -> str:
    return shlex.quote(json.dumps(document, separators=(",", ":")))
