# SPDX-License-Identifier: Apache-2.0
"""Rules of an API server about changes: which objects can be patched in place, and how others are written again."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from steersman.fixes.changes import Document
from steersman.fixes.fix import FixKind, ObjectName

CONTROLLER_UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
"""The labels by which an API server ties pods to one Job."""
_IN_PLACE: Final = frozenset({FixKind.TOLERATION, FixKind.SCHEDULING_GATES})
"""Fields that may be changed in a pod that exists."""
_OF_JOBS: Final = frozenset({FixKind.RESUME_JOB})
"""Fields that may be changed in a Job that exists."""
_IMMUTABLE: Final = frozenset({"Pod", "Job", "PersistentVolumeClaim", "ResourceClaim", "ResourceClaimTemplate"})
_OF_CLAIMS: Final = frozenset({FixKind.CLAIM_SIZE, FixKind.STORAGE_CLASS})
"""Fields that may not be changed in a StatefulSet that exists; its pods stay when it is written again."""
_SERVER_METADATA: Final = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
)
_BINDING_ANNOTATIONS: Final = ("volume.kubernetes.io/", "volume.beta.kubernetes.io/", "pv.kubernetes.io/")
"""Annotations by which controllers note how far the binding of a claim has come, and for which class."""
_PROTECTION: Final = "kubernetes.io/pvc-protection"


def is_written_again(target: ObjectName, kinds: Collection[FixKind]) -> bool:
    """Whether an API server refuses to change the object like this, so that it has to be deleted and created again."""
    if target.kind == "StatefulSet":
        return not _OF_CLAIMS.isdisjoint(kinds)
    in_place = {"Pod": _IN_PLACE, "Job": _OF_JOBS}.get(target.kind, frozenset())
    return target.kind in _IMMUTABLE and not in_place.issuperset(kinds)


def as_new(served: Document) -> Document:
    """The manifest that makes the object again which an API server has served."""
    made = without_generated_fields(served)
    metadata = {name: value for name, value in made["metadata"].items() if name not in _SERVER_METADATA}
    if made["kind"] == "PersistentVolumeClaim":
        _put(metadata, "annotations", _without_binding(metadata.get("annotations") or {}))
        _put(metadata, "finalizers", [each for each in metadata.get("finalizers") or () if each != _PROTECTION])
    return {**{name: value for name, value in made.items() if name != "status"}, "metadata": metadata}


def without_generated_fields(document: Document) -> Document:
    """A Job without the selector, and the labels of its template, that an API server makes for its uid; anything else as it
    is."""
    if document["kind"] != "Job" or document["spec"].get("manualSelector"):
        return document
    template = document["spec"]["template"]
    metadata = dict(template.get("metadata") or {})
    labels = metadata.get("labels") or {}
    metadata["labels"] = {name: value for name, value in labels.items() if name not in CONTROLLER_UID_LABELS}
    spec = {name: value for name, value in document["spec"].items() if name != "selector"}
    return {**document, "spec": {**spec, "template": {**template, "metadata": metadata}}}


def _without_binding(annotations: Document) -> Document:
    return {name: value for name, value in annotations.items() if not name.startswith(_BINDING_ANNOTATIONS)}


def _put(holder: Document, name: str, value: Any) -> None:
    """The value under its name; nothing where it is empty."""
    if value:
        holder[name] = value
    else:
        holder.pop(name, None)
