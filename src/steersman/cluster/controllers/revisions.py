# SPDX-License-Identifier: Apache-2.0
"""ControllerRevisions: the former and current templates of StatefulSets and DaemonSets."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from steersman.api import ControllerRevision, DaemonSet, Object, ObjectMeta, Selector, key
from steersman.api.defaults import with_template_defaults
from steersman.base import LruCache
from steersman.base.graph_copy import shared_by_copies
from steersman.cluster.controllers.controller import controller_of, controller_reference
from steersman.cluster.controllers.pod_template import template_hash, without_empty
from steersman.cluster.store import AlreadyExists, EventType, NotFound, Store
from steersman.cluster.store.admission.workloads import template_labels

REVISION_LABEL: Final = "controller-revision-hash"
HASH_LABEL: Final = "controller.kubernetes.io/hash"
_MAX_PREFIX: Final = 223
_MAX_REMEMBERED: Final = 4096

_replace = msgspec.structs.replace


@shared_by_copies
class _ComparedTemplate(NamedTuple):
    """Result of comparing a revision's data with a template; references keep ids valid."""

    data: dict[str, Any]
    template: dict[str, Any]
    is_equal: bool


class RevisionHistory:
    """ControllerRevisions of a store by owner."""

    def __init__(self, store: Store) -> None:
        self._store = store
        #: Keys by owner uid; keys of orphans by namespace.
        self._owned: dict[str, dict[str, None]] = {}
        self._orphans: dict[str, dict[str, None]] = {}
        #: Keyed by the ids of revision data and template.
        self._compared: LruCache[tuple[int, int], _ComparedTemplate] = LruCache(_MAX_REMEMBERED)
        store.subscribe(self._on_revision, (ControllerRevision,))

    def revisions_of(self, owner: Object, selector: Selector) -> list[ControllerRevision]:
        """Return the owner's revisions, oldest first, after adopting selected orphans."""
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
        """Return the template's revision, created or renumbered as the latest if needed, and the
        collision count.

        `lost` is the former name of the template's revision, if known, to be used again.
        """
        equal = [revision for revision in known if self._has_template(revision, template)]
        number = known[-1].revision + 1 if known else 1
        if not equal:
            return self._create(owner, template, number, collisions, lost)
        if equal[-1] is not known[-1]:
            return self._store.update(_replace(equal[-1], revision=number)), collisions
        return equal[-1], collisions

    def truncate(self, known: Sequence[ControllerRevision], in_use: Container[str], limit: int) -> None:
        """Delete the oldest unused revisions beyond `limit`."""
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
        prefix = f"{owner.metadata.name[:_MAX_PREFIX]}-"
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
    """Return the template in the revision."""
    template = (revision.data.get("spec") or {}).get("template") or {}
    return {name: value for name, value in template.items() if name != "$patch"}


def _has_template(revision: ControllerRevision, template: dict[str, Any]) -> bool:
    """Compare templates with defaults, as an older server may have set fewer of them."""
    kept = with_template_defaults(revision_template(revision))
    return bool(without_empty(kept) == without_empty(template))


def _new_revision(owner: Object, template: dict[str, Any], number: int, digest: str) -> ControllerRevision:
    metadata = ObjectMeta(
        name=f"{owner.metadata.name[:_MAX_PREFIX]}-{digest}",
        namespace=owner.metadata.namespace,
        labels={**template_labels(template), _hash_label(owner): digest},
        annotations=owner.metadata.annotations,
        owner_references=(controller_reference(owner),),
    )
    # Sorted like Go's maps: clients compare the bytes of a revision with those of a template.
    patch = msgspec.to_builtins({"spec": {"template": {**template, "$patch": "replace"}}}, order="sorted")
    return ControllerRevision(metadata=metadata, data=patch, revision=number)


def _hash_label(owner: Object) -> str:
    """Return the label with the hash; for DaemonSets it is the pods' label."""
    return REVISION_LABEL if isinstance(owner, DaemonSet) else HASH_LABEL


def _age(revision: ControllerRevision) -> tuple[int, str, str]:
    meta = revision.metadata
    return (revision.revision, meta.creation_timestamp or "", meta.name)
