# SPDX-License-Identifier: Apache-2.0
"""Writer of fixes: sentences, commands, and patches of objects.

    drafts of `search` ─► edits of documents ─┬─► against the input: patches
                                              └─► against a live cluster: what an API server takes

Objects of a live cluster are read only with the fields for scheduling. A merge patch replaces
lists, so it needs whole objects: a `DocumentSource` fetches those that fixes change.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec

from steersman.api import create_merge_patch
from steersman.explain.fixes.changes import Change, Document, InputDocuments, edited, replaces_containers
from steersman.explain.fixes.commands import as_new, commands, has_to_be_recreated, refused_name
from steersman.explain.fixes.fix import Fix, FixKind, ObjectDeletion, ObjectName, ObjectPatch
from steersman.explain.fixes.verification import Scheduled, Verifier

DocumentSource: TypeAlias = Callable[[Collection[ObjectName]], Mapping[ObjectName, Document]]
"""Returns existing objects as the API server has them."""
Edits: TypeAlias = Mapping[ObjectName, tuple[Document, Document]]
"""Objects before and after the changes."""

NO_COMMAND: Final = " No command is printed: an API server does not admit the name {}."
GATES: Final = "schedulingGates"
_OWNED: Final = frozenset({FixKind.SCHEDULING_GATES, FixKind.RECREATE})
"""Parts of fixes that only the controller of a scheduling gate may carry out."""
_ORPHAN: Final = "Orphan"
_replace: Final = msgspec.structs.replace
_ORDER: Final = {kind: position for position, kind in enumerate(FixKind)}


class FixDraft(NamedTuple):
    """Needed changes that pass together."""

    changes: tuple[Change, ...]
    scheduled: Scheduled

    @property
    def summary(self) -> str:
        """Sentence with the changes and the node of the pod."""
        what, scheduled = " and ".join(change.summary for change in self.changes), self.scheduled
        evicts = f"; evicts {', '.join(scheduled.evicts)}" if scheduled.evicts else ""
        return f"{what[0].upper()}{what[1:]}: it goes to {scheduled.node}{evicts}."

    @property
    def parts(self) -> tuple[FixKind, ...]:
        return tuple(change.kind for change in self.changes)

    @property
    def rank(self) -> tuple[bool, int, int, list[int], str]:
        """Sort key: fixes without a new machine first, then those that evict no pod and lose no
        work, then by parts."""
        order = [_ORDER[kind] for kind in self.parts if kind is not FixKind.RECREATE]
        lost = len(self.scheduled.evicts) + self.scheduled.lost_completions
        return FixKind.ADD_NODE in self.parts, lost, len(order), order, self.summary

    @property
    def objects(self) -> Iterator[ObjectName]:
        """Objects that are edited or replaced unchanged."""
        for change in self.changes:
            if change.target is not None:
                yield change.target
            yield from (recreation.target for recreation in change.recreates if recreation.workload is None)


def against_input(draft: FixDraft, verifier: Verifier, *, creates_nodes: bool = True) -> Fix:
    """Return the fix with patches for the documents of the input."""
    edits = verifier.documents.patches(draft.changes)
    gated = _with_gates(draft, edits)
    refused = verifier.refused_document(gated)
    return _fix(
        draft,
        edits,
        commands(draft.changes, gated, refused),
        patches=tuple(_patch(target, *documents) for target, documents in edits.items()),
        delete=tuple(_deletions(draft)),
        create=(*_objects(draft), *(_machines(draft) if creates_nodes else ())),
        new_nodes=() if creates_nodes else tuple(_machines(draft)),
    )


def against_cluster(drafts: Sequence[FixDraft], documents: InputDocuments, source: DocumentSource) -> Iterator[Fix]:
    """Yield the fixes for a live cluster, without those about deleted or replaced objects. Objects
    of additional files are taken from the files, and created if the cluster does not have them."""
    names = dict.fromkeys(name for draft in drafts for name in draft.objects)
    present = source(names) if names else {}
    written = {name: documents.original(name) for name in names if documents.is_written(name)}
    served = {**present, **written}
    for draft in drafts:
        try:
            edits = {name: (served[name], after) for name, after in edited(draft.changes, served).items()}
            yield _for_server(draft, edits, served, written.keys() - present.keys())
        except LookupError:
            continue


def without_partial_patches(fixes: Iterable[Fix]) -> tuple[Fix, ...]:
    """Return the fixes for objects with only some fields, as in a record. A fix of containers keeps
    only its commands, which patch containers by name: a merge patch would drop the other fields."""
    return tuple(
        _replace(fix, patches=(), delete=(), create=())
        if any(replaces_containers(patch.merge_patch) for patch in fix.patches)
        else fix
        for fix in fixes
    )


def _for_server(
    draft: FixDraft, edits: Edits, served: Mapping[ObjectName, Document], absent: Collection[ObjectName]
) -> Fix:
    """Return the fix in a form that an API server accepts: immutable objects are deleted and
    recreated, and `absent` ones created."""
    edits = _with_gates(draft, edits)
    if set(draft.parts) <= _OWNED:
        return _fix(draft, edits, iter(()), patches=(), delete=(), create=(), new_nodes=())
    patches: list[ObjectPatch] = []
    delete: list[ObjectDeletion] = []
    create = list(_objects(draft))
    for target, (before, after) in edits.items():
        mine = [change for change in draft.changes if change.target == target]
        if before == after or all(change.moves is not None for change in mine):
            continue
        if target in absent:
            create.append(as_new(after))
        elif has_to_be_recreated(target, {change.kind for change in mine}):
            delete.append(_deletion(target, orphans=target.kind == "StatefulSet"))
            create.append(as_new(after))
        else:
            patches.append(_patch(target, before, after))
    if not any(each.kind == "Job" for each in delete):  # its pods go with it
        delete += _deletions(draft, absent)
    for recreation in dict.fromkeys(each for change in draft.changes for each in change.recreates):
        if recreation.target in absent or recreation.target in edits:
            continue
        delete.append(_deletion(recreation.target))
        if recreation.workload is None:
            create.append(as_new(served[recreation.target]))
    return _fix(
        draft,
        edits,
        commands(draft.changes, edits, absent=absent),
        patches=tuple(patches),
        delete=tuple(delete),
        create=tuple(create),
        new_nodes=tuple(_machines(draft)),
    )


def _with_gates(draft: FixDraft, edits: Edits) -> dict[ObjectName, tuple[Document, Document]]:
    """Return the edits without the removal of scheduling gates, which their owners lift."""
    if FixKind.SCHEDULING_GATES not in draft.parts:
        return dict(edits)
    return {name: (before, _restored_gates(before, after)) for name, (before, after) in edits.items()}


def _restored_gates(before: Document, after: Document) -> Document:
    gates = {GATES: before[GATES]} if GATES in before else {}
    inner = {
        name: _restored_gates(value, after.get(name) or {})
        for name, value in before.items()
        if name in ("spec", "template", "jobTemplate") and isinstance(value, dict)
    }
    return {**after, **inner, **gates}


def _fix(
    draft: FixDraft,
    edits: Edits,
    lines: Iterator[str],
    *,
    patches: tuple[ObjectPatch, ...],
    delete: tuple[ObjectDeletion, ...],
    create: tuple[Document, ...],
    new_nodes: tuple[Document, ...],
) -> Fix:
    kinds = set(draft.parts) - {FixKind.RECREATE}
    refused = refused_name(draft.changes, edits)
    is_command = not refused and not set(draft.parts) <= _OWNED
    return Fix(
        kind=kinds.pop() if len(kinds) == 1 else FixKind.SEVERAL,
        summary=draft.summary + (NO_COMMAND.format(json.dumps(refused)) if refused else ""),
        commands=tuple(lines) if is_command else (),
        patches=patches,
        create=create,
        delete=delete,
        new_nodes=new_nodes,
        moves=tuple(change.moves for change in draft.changes if change.moves is not None),
        node=draft.scheduled.node,
        evicts=draft.scheduled.evicts,
        parts=draft.parts,
    )


def _objects(draft: FixDraft) -> Iterator[Document]:
    """Yield the objects that can be created through an API server."""
    return (each for change in draft.changes if change.kind is not FixKind.ADD_NODE for each in change.create)


def _machines(draft: FixDraft) -> Iterator[Document]:
    """Yield nodes, which kubelets register, and the objects that drivers publish about them."""
    return (each for change in draft.changes if change.kind is FixKind.ADD_NODE for each in change.create)


def _deletions(draft: FixDraft, absent: Collection[ObjectName] = ()) -> Iterator[ObjectDeletion]:
    """Yield the deletions, without objects that do not exist."""
    return (_deletion(name) for change in draft.changes for name in change.delete if name not in absent)


def _patch(target: ObjectName, before: Document, after: Document) -> ObjectPatch:
    return ObjectPatch(target.kind, target.namespace, target.name, create_merge_patch(before, after))


def _deletion(name: ObjectName, *, orphans: bool = False) -> ObjectDeletion:
    policy = {"propagation_policy": _ORPHAN} if orphans else {}
    return ObjectDeletion(name.kind, name.namespace, name.name, **policy)
