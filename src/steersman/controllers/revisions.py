# SPDX-License-Identifier: Apache-2.0
"""ControllerRevisions: the templates that a StatefulSet or DaemonSet has had, the latest last."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from steersman.api import ControllerRevision, DaemonSet, Object, ObjectMeta, key
from steersman.api.selectors import Selector
from steersman.bounded_table import RecentTable
from steersman.controllers.controller import controller_of, controller_reference
from steersman.controllers.pod_template import template_hash, without_empty
from steersman.embedded import AlreadyExists, EventType, NotFound, Store
from steersman.embedded.admission.pod_template import with_template_defaults
from steersman.embedded.admission.workloads import template_labels
from steersman.graph_copy import shared_by_copies

REVISION_LABEL: Final = "controller-revision-hash"
HASH_LABEL: Final = "controller.kubernetes.io/hash"
_LONGEST_PREFIX: Final = 223
_MOST_REMEMBERED: Final = 4096

_replace = msgspec.structs.replace


@shared_by_copies
class _ComparedTemplate(NamedTuple):
    """The data of a revision and a template, kept so that their identities stay theirs, and whether they say the same."""

    data: dict[str, Any]
    template: dict[str, Any]
    is_equal: bool


class RevisionHistory:
    """The ControllerRevisions of a store, by their owners."""

    def __init__(self, store: Store) -> None:
        self._store = store
        #: Keys by the uid of the owner, and of those without one by their namespace.
        self._owned: dict[str, dict[str, None]] = {}
        self._orphans: dict[str, dict[str, None]] = {}
        #: By identity of a revision's data and of a template.
        self._compared: RecentTable[tuple[int, int], _ComparedTemplate] = RecentTable(_MOST_REMEMBERED)
        store.subscribe(self._on_revision, (ControllerRevision,))

    def of(self, owner: Object, selector: Selector) -> list[ControllerRevision]:
        """The owner's revisions, the oldest first; those that it selects and nobody owns are adopted."""
        for name in list(self._orphans.get(owner.metadata.namespace, ())):
            orphan = self._store.get(ControllerRevision, name)
            if selector.matches(orphan.metadata.labels) and owner.metadata.deletion_timestamp is None:
                owners = (*orphan.metadata.owner_references, controller_reference(owner))
                self._store.update(_replace(orphan, metadata=_replace(orphan.metadata, owner_references=owners)))
        names = self._owned.get(owner.metadata.uid, ())
        return sorted((self._store.get(ControllerRevision, name) for name in names), key=_age)

    def current(
        self,
        owner: Object,
        template: dict[str, Any],
        known: Sequence[ControllerRevision],
        collisions: int,
        lost: str = "",
    ) -> tuple[ControllerRevision, int]:
        """The revision of the template, made or made the latest if need be, and how many names collided so far.

        `lost` is the name that the template's revision has had, if it is known: it gets that name again.
        """
        equal = [revision for revision in known if self._has_template(revision, template)]
        number = known[-1].revision + 1 if known else 1
        if not equal:
            return self._create(owner, template, number, collisions, lost)
        if equal[-1] is not known[-1]:
            return self._store.update(_replace(equal[-1], revision=number)), collisions
        return equal[-1], collisions

    def truncate(self, known: Sequence[ControllerRevision], in_use: Container[str], limit: int) -> None:
        """Deletes the oldest revisions that nobody uses, so that no more of them are left than the limit says."""
        unused = [revision for revision in known if revision.metadata.name not in in_use]
        if limit < 0:
            return
        for revision in unused[: max(0, len(unused) - limit)]:
            try:
                self._store.delete(ControllerRevision, key(revision))
            except NotFound:
                continue

    def _has_template(self, revision: ControllerRevision, template: dict[str, Any]) -> bool:
        pair = (id(revision.data), id(template))
        known = self._compared.get(pair)
        if known is None:
            known = _ComparedTemplate(revision.data, template, _has_template(revision, template))
            self._compared.put(pair, known)
        return known.is_equal

    def _create(
        self, owner: Object, template: dict[str, Any], number: int, collisions: int, lost: str
    ) -> tuple[ControllerRevision, int]:
        prefix = f"{owner.metadata.name[:_LONGEST_PREFIX]}-"
        while True:
            digest = template_hash(template, collisions)
            if lost.startswith(prefix):
                digest, lost = lost.removeprefix(prefix), ""
            revision = _new_revision(owner, template, number, digest)
            try:
                return self._store.create(revision), collisions
            except AlreadyExists:
                found = self._store.get(ControllerRevision, key(revision))
                if found.data == revision.data:
                    return found, collisions
                collisions += 1

    def _on_revision(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if old is not None:
            self._place(old).pop(key(old), None)
        if new is not None:
            self._place(new)[key(new)] = None

    def _place(self, revision: Object) -> dict[str, None]:
        owner = controller_of(revision)
        if owner is None:
            return self._orphans.setdefault(revision.metadata.namespace, {})
        return self._owned.setdefault(owner.uid, {})


def revision_template(revision: ControllerRevision) -> dict[str, Any]:
    """The template that the revision keeps."""
    template = (revision.data.get("spec") or {}).get("template") or {}
    return {name: value for name, value in template.items() if name != "$patch"}


def _has_template(revision: ControllerRevision, template: dict[str, Any]) -> bool:
    """Filled in on both sides: an older server may have known fewer defaults."""
    kept = with_template_defaults(revision_template(revision))
    return bool(without_empty(kept) == without_empty(template))


def _new_revision(owner: Object, template: dict[str, Any], number: int, digest: str) -> ControllerRevision:
    metadata = ObjectMeta(
        name=f"{owner.metadata.name[:_LONGEST_PREFIX]}-{digest}",
        namespace=owner.metadata.namespace,
        labels={**template_labels(template), _hash_label(owner): digest},
        annotations=owner.metadata.annotations,
        owner_references=(controller_reference(owner),),
    )
    patch = {"spec": {"template": {**template, "$patch": "replace"}}}
    return ControllerRevision(metadata=metadata, data=patch, revision=number)


def _hash_label(owner: Object) -> str:
    """Daemons look for their revision by the label that pods have."""
    return REVISION_LABEL if isinstance(owner, DaemonSet) else HASH_LABEL


def _age(revision: ControllerRevision) -> tuple[int, str, str]:
    meta = revision.metadata
    return (revision.revision, meta.creation_timestamp or "", meta.name)
