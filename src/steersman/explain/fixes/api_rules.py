# SPDX-License-Identifier: Apache-2.0
"""Rules of an API server about changes: which objects can be patched in place, and how others are
recreated."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from steersman.explain.fixes.changes import Document, set_or_remove
from steersman.explain.fixes.fix import FixKind, ObjectName

CONTROLLER_UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
"""Labels by which an API server ties pods to one Job."""
_IN_PLACE: Final = frozenset({FixKind.TOLERATION, FixKind.SCHEDULING_GATES})
"""Mutable fields of an existing pod."""
_OF_JOBS: Final = frozenset({FixKind.RESUME_JOB})
"""Mutable fields of an existing Job."""
_IMMUTABLE: Final = frozenset({"Pod", "Job", "PersistentVolumeClaim", "ResourceClaim", "ResourceClaimTemplate"})
_OF_CLAIMS: Final = frozenset({FixKind.CLAIM_SIZE, FixKind.STORAGE_CLASS})
"""Immutable fields of an existing StatefulSet; its pods stay when it is replaced."""
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
"""Prefixes of annotations in which controllers record the binding and the class of a claim."""
_PROTECTION: Final = "kubernetes.io/pvc-protection"


def has_to_be_recreated(target: ObjectName, kinds: Collection[FixKind]) -> bool:
    """Return whether an API server refuses such a change, so that the object has to be deleted and
    recreated."""
    if target.kind == "StatefulSet":
        return not _OF_CLAIMS.isdisjoint(kinds)
    in_place = {"Pod": _IN_PLACE, "Job": _OF_JOBS}.get(target.kind, frozenset())
    return target.kind in _IMMUTABLE and not in_place.issuperset(kinds)


def as_new(served: Document) -> Document:
    """Return the manifest that recreates an object as served by an API server."""
    made = without_generated_fields(served)
    metadata = {name: value for name, value in made["metadata"].items() if name not in _SERVER_METADATA}
    if made["kind"] == "PersistentVolumeClaim":
        set_or_remove(metadata, "annotations", _without_binding(metadata.get("annotations") or {}))
        set_or_remove(
            metadata, "finalizers", [each for each in metadata.get("finalizers") or () if each != _PROTECTION]
        )
    return {**{name: value for name, value in made.items() if name != "status"}, "metadata": metadata}


def without_generated_fields(document: Document) -> Document:
    """Return a Job without the selector and template labels that the API server generates for its
    uid; other objects unchanged."""
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
