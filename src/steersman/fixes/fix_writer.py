# SPDX-License-Identifier: Apache-2.0
"""Writes the fixes that were found: sentences, commands, and patches of objects.

    drafts of `search` ─► edits of documents ─┬─► against the input: patches
                                              └─► against a live cluster: what an API server takes

The objects of a live cluster are read as far as scheduling looks at them. A merge patch replaces lists, so it has to be made of
whole objects: a `DocumentSource` fetches those that the fixes are about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec

from steersman.fixes.api_rules import as_new, is_written_again
from steersman.fixes.changes import Change, Document, edited, merge_patch, replaces_containers
from steersman.fixes.commands import commands
from steersman.fixes.fix import Fix, FixKind, ObjectDeletion, ObjectName, ObjectPatch
from steersman.fixes.input_documents import InputDocuments
from steersman.fixes.verification import Scheduled, Verifier

DocumentSource: TypeAlias = Callable[[Collection[ObjectName]], Mapping[ObjectName, Document]]
"""Gives objects as an API server has them; those that are gone are missing."""
Edits: TypeAlias = Mapping[ObjectName, tuple[Document, Document]]
"""Objects before and after the changes."""

_ORPHAN: Final = "Orphan"
_replace: Final = msgspec.structs.replace
_ORDER: Final = {kind: position for position, kind in enumerate(FixKind)}


class FixDraft(NamedTuple):
    """Changes that pass together, and none of which can be left out."""

    changes: tuple[Change, ...]
    scheduled: Scheduled

    @property
    def summary(self) -> str:
        """A sentence: the changes, and where the pod goes."""
        what, scheduled = " and ".join(change.summary for change in self.changes), self.scheduled
        evicts = f"; evicts {', '.join(scheduled.evicts)}" if scheduled.evicts else ""
        return f"{what[0].upper()}{what[1:]}: it goes to {scheduled.node}{evicts}."

    @property
    def parts(self) -> tuple[FixKind, ...]:
        return tuple(change.kind for change in self.changes)

    @property
    def rank(self) -> tuple[bool, int, int, list[int], str]:
        """The rank of a fix: those first that need no machine, then those that evict nobody and lose no work, then by parts."""
        order = [_ORDER[kind] for kind in self.parts if kind is not FixKind.RECREATE]
        lost = len(self.scheduled.evicts) + self.scheduled.lost_completions
        return FixKind.ADD_NODE in self.parts, lost, len(order), order, self.summary

    @property
    def objects(self) -> Iterator[ObjectName]:
        """The objects that are edited, and those that are written again as they are."""
        for change in self.changes:
            if change.target is not None:
                yield change.target
            yield from (renewal.target for renewal in change.renews if renewal.maker is None)


def against_input(draft: FixDraft, verifier: Verifier, *, creates_nodes: bool = True) -> Fix:
    """The fix for the input of the simulation: patches that can be applied to its documents."""
    edits = verifier.documents.patches(draft.changes)
    refused = verifier.refused_document(edits)
    return _fix(
        draft,
        commands(draft.changes, edits, refused),
        patches=tuple(_patch(target, *documents) for target, documents in edits.items()),
        delete=tuple(_deletions(draft)),
        create=(*_objects(draft), *(_machines(draft) if creates_nodes else ())),
        new_nodes=() if creates_nodes else tuple(_machines(draft)),
    )


def against_cluster(drafts: Sequence[FixDraft], documents: InputDocuments, source: DocumentSource) -> Iterator[Fix]:
    """The fixes for a live cluster. One about objects that are gone, or are others now, is left out. Objects of files beside
    the cluster are taken from there; those that the cluster does not have yet are created as the fix has them."""
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
    """The fixes of objects of which only some fields are known, as in a record. One that changes containers has its commands
    alone, which patch them by name: a merge patch would drop the other fields."""
    return tuple(
        _replace(fix, patches=(), delete=(), create=())
        if any(replaces_containers(patch.merge_patch) for patch in fix.patches)
        else fix
        for fix in fixes
    )


def _for_server(
    draft: FixDraft, edits: Edits, served: Mapping[ObjectName, Document], absent: Collection[ObjectName]
) -> Fix:
    """The fix as an API server takes it: objects that cannot be changed in place are removed and created again, and those that
    are `absent` are created."""
    patches: list[ObjectPatch] = []
    delete: list[ObjectDeletion] = []
    create = list(_objects(draft))
    for target, (before, after) in edits.items():
        mine = [change for change in draft.changes if change.target == target]
        if all(change.moves is not None for change in mine):
            continue
        if target in absent:
            create.append(as_new(after))
        elif is_written_again(target, {change.kind for change in mine}):
            delete.append(_deletion(target, orphans=target.kind == "StatefulSet"))
            create.append(as_new(after))
        else:
            patches.append(_patch(target, before, after))
    if not any(each.kind == "Job" for each in delete):  # its pods go with it
        delete += _deletions(draft, absent)
    for renewal in dict.fromkeys(each for change in draft.changes for each in change.renews):
        if renewal.target in absent or renewal.target in edits:
            continue
        delete.append(_deletion(renewal.target))
        if renewal.maker is None:
            create.append(as_new(served[renewal.target]))
    return _fix(
        draft,
        commands(draft.changes, edits, absent=absent),
        patches=tuple(patches),
        delete=tuple(delete),
        create=tuple(create),
        new_nodes=tuple(_machines(draft)),
    )


def _fix(
    draft: FixDraft,
    lines: Iterator[str],
    *,
    patches: tuple[ObjectPatch, ...],
    delete: tuple[ObjectDeletion, ...],
    create: tuple[Document, ...],
    new_nodes: tuple[Document, ...],
) -> Fix:
    kinds = set(draft.parts) - {FixKind.RECREATE}
    return Fix(
        kind=kinds.pop() if len(kinds) == 1 else FixKind.SEVERAL,
        summary=draft.summary,
        commands=tuple(lines),
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
    """The objects that an API server can create."""
    return (each for change in draft.changes if change.kind is not FixKind.ADD_NODE for each in change.create)


def _machines(draft: FixDraft) -> Iterator[Document]:
    """Nodes, which kubelets register, and what drivers publish about them."""
    return (each for change in draft.changes if change.kind is FixKind.ADD_NODE for each in change.create)


def _deletions(draft: FixDraft, absent: Collection[ObjectName] = ()) -> Iterator[ObjectDeletion]:
    """The objects to remove, without those that are not there."""
    return (_deletion(name) for change in draft.changes for name in change.delete if name not in absent)


def _patch(target: ObjectName, before: Document, after: Document) -> ObjectPatch:
    return ObjectPatch(target.kind, target.namespace, target.name, merge_patch(before, after))


def _deletion(name: ObjectName, *, orphans: bool = False) -> ObjectDeletion:
    policy = {"propagation_policy": _ORPHAN} if orphans else {}
    return ObjectDeletion(name.kind, name.namespace, name.name, **policy)
