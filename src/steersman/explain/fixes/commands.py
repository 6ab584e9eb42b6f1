# SPDX-License-Identifier: Apache-2.0
"""Renders fixes as kubectl commands.

Most objects are patched in place. Pods, Jobs and claims, whose specs are mostly immutable, are
replaced under their name with all their fields. Containers are patched by name, so that fields
unrelated to scheduling stay. Pods that move are evicted while their node is cordoned.

Names come from untrusted files, and commands are pasted into shells: every word is quoted, `--`
stands before names, and documents go through `printf '%s'`, because `echo` of some shells
interprets backslashes.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from steersman.api import create_merge_patch
from steersman.explain.fixes.changes import Change, Document, Recreation, set_or_remove, strategic_patch
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


# -- commands ----------------------------------------------------------------------------------------------------------


_RESTARTED: Final = frozenset({"Deployment", "DaemonSet"})
"""Workloads whose restart replaces a pending pod; a StatefulSet would wait for it."""
_NAMESPACE: Final = re.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAME: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def commands(
    changes: Sequence[Change],
    edits: Mapping[ObjectName, tuple[Document, Document]],
    refused: Document | None = None,
    absent: Collection[ObjectName] = (),
) -> Iterator[str]:
    """Yield creations, then one patch per object, then deletions. Nodes are machines, which no
    command can create. `refused` is a pod that was not admitted, after the changes; `absent` are
    other objects that do not exist yet and are created as changed."""
    created = (manifest for change in changes if change.kind is not FixKind.ADD_NODE for manifest in change.create)
    yield from map(_create, created)
    cordoned = dict.fromkeys(change.moves.source for change in changes if change.moves is not None)
    yield from (kubectl("cordon", node) for node in cordoned)
    yield from (change.command for change in changes if change.command and change.target is not None)
    for target, (before, after) in edits.items():
        mine = [change for change in changes if change.target == target and not change.command]
        if mine and target in absent:
            yield _create(as_new(after))
        elif mine and after is not refused and before != after:
            yield _patched(target, before, after, {change.kind for change in mine})
    if refused is not None:
        yield _create(refused)
    gone = (change for change in changes if change.command and any(name not in absent for name in change.delete))
    yield from (change.command for change in gone)
    recreations = (each for change in changes for each in change.recreates if each.target not in absent)
    yield from dict.fromkeys(map(_recreation, recreations))
    yield from (kubectl("uncordon", node) for node in cordoned)


def refused_name(changes: Iterable[Change], targets: Iterable[ObjectName]) -> str:
    """Return a name in the changes or targets that no API server admits, and that no command may
    contain; "" for none."""
    for change in changes:
        metadata = [document.get("metadata") or {} for document in change.create]
        created = (ObjectName("", str(each.get("namespace") or ""), str(each.get("name"))) for each in metadata)
        renewed = (name for recreation in change.recreates for name in recreation if name is not None)
        move = [] if change.moves is None else [ObjectName("Node", "", change.moves.source)]
        targets = (*targets, *created, *renewed, *change.delete, *move)
    for name in targets:
        if not _NAME.fullmatch(name.name):
            return name.name
        if name.namespace and not _NAMESPACE.fullmatch(name.namespace):
            return name.namespace
    return ""


def kubectl(verb: str, *names: str, options: Sequence[str] = (), namespace: str = "") -> str:
    """Return the command line for objects of the namespace."""
    where = () if namespace in ("", "default") else ("-n", namespace)
    return " ".join(map(_quoted_word, ("kubectl", *verb.split(), *options, *where, "--", *names)))


def piped(document: Document, command: str) -> str:
    """Return the command line that pipes the document into the command."""
    return f"printf '%s' {_json(document)} | {command}"


def deletion(target: ObjectName) -> str:
    """Return the command that deletes the object if it exists."""
    return _kubectl("delete", target, "--ignore-not-found")


def _recreation(recreation: Recreation) -> str:
    """Return the command that recreates the object, or has its workload do so."""
    target, workload = recreation
    if workload is None:
        return f"{_kubectl('get', target, '-o', 'json')} | kubectl replace --force -f -"
    is_restarted = target.kind == "Pod" and workload.kind in _RESTARTED
    return _kubectl("rollout restart", workload) if is_restarted else deletion(target)


def _patched(target: ObjectName, before: Document, after: Document, kinds: set[FixKind]) -> str:
    if FixKind.PRIORITY in kinds:
        before = _with_priority(before)
    if not has_to_be_recreated(target, kinds):
        return _patch(target, before, after, replaced="")
    if target.kind == "Job":
        before, after = _with_generated_selector(before), without_generated_fields(after)
    orphans = " --cascade=orphan" if target.kind == "StatefulSet" else ""
    return _patch(target, before, after, replaced=f"--force{orphans}")


def _with_priority(document: Document) -> Document:
    """Return the pod with the priority that admission sets, which a patch has to remove for another
    class to count."""
    if document["kind"] != "Pod":
        return document
    return {**document, "spec": {"priority": 0, "preemptionPolicy": "", **document.get("spec", {})}}


def _with_generated_selector(job: Document) -> Document:
    """Return the Job with the generated selector and labels, which a patch has to remove before it
    is recreated."""
    template = job["spec"]["template"]
    metadata = template.get("metadata") or {}
    labelled = {**metadata, "labels": {**dict.fromkeys(CONTROLLER_UID_LABELS, ""), **(metadata.get("labels") or {})}}
    return {**job, "spec": {"selector": {}, **job["spec"], "template": {**template, "metadata": labelled}}}


def _create(manifest: Document) -> str:
    return piped(manifest, "kubectl apply -f -")


def _patch(target: ObjectName, before: Document, after: Document, *, replaced: str) -> str:
    """Return the command that patches the object, by `kubectl replace` with the options `replaced`
    if there are any."""
    strategic = strategic_patch(before, after)
    form = "merge" if strategic is None else "strategic"
    patch = create_merge_patch(before, after) if strategic is None else strategic
    if not replaced:
        text = json.dumps(patch, separators=(",", ":"))
        return _kubectl("patch", target, f"--type={form}", "-p", text)
    local = f"kubectl patch --local -f - --type={form} -p {_json(patch)} -o json"
    return f"{_kubectl('get', target, '-o', 'json')} | {local} | kubectl replace {replaced} -f -"


def _kubectl(verb: str, target: ObjectName, *options: str) -> str:
    return kubectl(verb, target.kind.lower(), target.name, options=options, namespace=target.namespace)


def _json(document: Document) -> str:
    return shlex.quote(json.dumps(document, separators=(",", ":")))


def _quoted_word(word: str) -> str:
    """Return the word quoted for sh, bash and zsh, which expands `=word` to a path."""
    quoted = shlex.quote(word)
    return f"'{word}'" if quoted.startswith("=") else quoted
