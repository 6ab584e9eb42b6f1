# SPDX-License-Identifier: Apache-2.0
"""Base class of controllers that own pods: tracks them, adopts selected orphans, and releases
unselected pods."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final, Generic, NamedTuple, TypeVar, cast

import msgspec

from steersman.api import FINISHED_PHASES, LabelSelector, Object, OwnerReference, Pod, Selector, key
from steersman.base import GroupedDict
from steersman.base.graph_copy import copied_attributes, two_levels
from steersman.cluster.controllers.controller import Cluster, Controller, controller_reference
from steersman.cluster.controllers.owned_pods import OwnedPods, OwnerSelectors, list_owned_pods
from steersman.cluster.controllers.pod_template import PodTemplates
from steersman.cluster.store import EventType, Pods

T = TypeVar("T", bound=Object)
FIRST_BACKOFF_SECONDS: Final = 1.0
MAX_BACKOFF_SECONDS: Final = 900.0

_replace = msgspec.structs.replace


@copied_attributes(_candidates=two_levels)
class PodOwnerController(Controller, Generic[T]):
    """Controller that enqueues an owner when its pods change or an orphan may be adopted."""

    #: Kind of the owners.
    KIND: type[T]

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.pods = Pods(self.store)
        self.templates = PodTemplates(self.store)
        self._selectors = OwnerSelectors()
        self._index: OwnedPods | None = None
        #: Owner key → keys of orphans to consider for adoption.
        self._candidates: dict[str, dict[str, None]] = {}
        #: Namespace → keys of owners whose orphans were not searched yet.
        self._new_owners: GroupedDict[str, str, None] = GroupedDict()
        self.backoffs = ReplacementBackoffs()
        #: Uids of owners with an unreplaced pod that ended within the second of its creation.
        self._ended_at_once: set[str] = set()
        self.store.subscribe(self._on_owner, (self.KIND,))

    @property
    def owned(self) -> OwnedPods:
        """Index of all pods by owner; available once an owner exists."""
        assert self._index is not None
        return self._index

    def selector_of(self, owner: T) -> LabelSelector | None:
        """Return the selector of the owner's pods."""
        selector: LabelSelector | None = owner.spec.selector  # type: ignore[attr-defined]
        return selector

    def owner_came(self, owner: T) -> None:
        """React to a new or changed owner."""

    def owner_went(self, owner: T) -> None:
        """React to a deleted owner."""

    def pod_changed(self, owner: OwnerReference, before: Pod | None, after: Pod | None) -> None:
        """React to a new, changed or deleted pod of an owner."""

    def may_adopt(self, owner: T, pod: Pod) -> bool:
        """Return whether the owner may adopt a selected, non-terminating pod."""
        return True

    # -- replacing ---------------------------------------------------------------------------------

    def ended_at_once(self, owner: T) -> bool:
        """Return whether, since the last replacement, a pod ended in the second of its creation."""
        return owner.metadata.uid in self._ended_at_once

    def may_replace(self, owner: T) -> bool:
        """Return whether finished pods may be replaced; if not, enqueue the owner for later.

        Upstream replaces them at once, slowed down by network and kubelet. In virtual time, pods
        that end immediately would be replaced endlessly at one moment.
        """
        if not self.ended_at_once(owner):
            return True
        left = self.backoffs.remaining_seconds(owner.metadata.uid, self.store.clock.now())
        if left:
            self.enqueue_after(key(owner), left, is_background=True)
            return False
        self._ended_at_once.discard(owner.metadata.uid)
        return True

    # -- claiming ----------------------------------------------------------------------------------

    def adopt(self, owner: T, selector: Selector) -> None:
        """Adopt the selected orphans."""
        name, namespace = key(owner), owner.metadata.namespace
        if name in self._new_owners.entries_of(namespace):
            self._find_candidates(namespace)
        for pod_name in self._candidates.pop(name, ()):
            pod = self.owned.orphans(namespace).get(pod_name)  # the current version, after earlier writes
            if pod is None or pod.metadata.deletion_timestamp is not None:
                continue
            if selector.matches(pod.metadata.labels) and self.may_adopt(owner, pod):
                self._write_owners(pod, (*pod.metadata.owner_references, controller_reference(owner)))

    def _find_candidates(self, namespace: str) -> None:
        """Find the orphans that new owners of the namespace may adopt, in one pass. Each of the few
        distinct label sets is matched once."""
        new = set(self._new_owners.entries_of(namespace))
        for name in new:
            self._new_owners.remove(namespace, name)
        owners_of: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for pod_name, pod in self.owned.orphans(namespace).items():
            labels = tuple(pod.metadata.labels.items())
            owners = owners_of.get(labels)
            if owners is None:
                matching = self._selectors.matching(namespace, pod.metadata.labels)
                owners = owners_of[labels] = [name for name in matching if name in new]
            for name in owners:
                self._candidates.setdefault(name, {})[pod_name] = None

    def release(self, owner: T, pods: Iterable[Pod]) -> None:
        """Remove the owner's reference from pods."""
        for pod in pods:
            self._write_owners(
                pod, tuple(ref for ref in pod.metadata.owner_references if ref.uid != owner.metadata.uid)
            )

    def _write_owners(self, pod: Pod, owners: tuple[OwnerReference, ...]) -> None:
        self.store.update(_replace(pod, metadata=_replace(pod.metadata, owner_references=owners)))

    # -- events ------------------------------------------------------------------------------------

    def _on_owner(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if new is None:
            self._forget(cast("T", old))
        else:
            owner = cast("T", new)
            if self._index is None:
                self._index = list_owned_pods(self.store)
                self._index.listen(self.KIND, self._on_pod, self._on_orphan)
            if old is None or self.selector_of(cast("T", old)) != self.selector_of(owner):
                self._selectors.put(key(owner), owner.metadata.namespace, self.selector_of(owner))
            if old is None:
                self._new_owners.put(owner.metadata.namespace, key(owner), None)
            self.owner_came(owner)
        self.enqueue(key(cast("T", new or old)))

    def _forget(self, owner: T) -> None:
        self._selectors.remove(key(owner))
        self._candidates.pop(key(owner), None)
        self._new_owners.remove(owner.metadata.namespace, key(owner))
        self._ended_at_once.discard(owner.metadata.uid)
        self.owner_went(owner)

    def _on_pod(self, owner: OwnerReference, before: Pod | None, after: Pod | None) -> None:
        if before is not None and after is not None and before.status.phase != after.status.phase:
            has_ended = after.status.phase in FINISHED_PHASES
            if has_ended and after.metadata.creation_timestamp == self.store.timestamp():
                self._ended_at_once.add(owner.uid)
        self.pod_changed(owner, before, after)
        self.enqueue(f"{cast('Pod', after or before).metadata.namespace}/{owner.name}")

    def _on_orphan(self, pod: Pod) -> None:
        for name in self._selectors.matching(pod.metadata.namespace, pod.metadata.labels):
            self._candidates.setdefault(name, {})[key(pod)] = None
            self.enqueue(name)


class _Backoff(NamedTuple):
    seconds: float
    since: float


class ReplacementBackoffs:
    """Exponential backoffs of replacing finished pods, by key, as in the DaemonSet controller.

    They reset after twice the maximum without use.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, _Backoff] = {}

    def remaining_seconds(self, place: Hashable, now: float) -> float:
        """Return the backoff if it is not over; else 0, and start the next, longer one."""
        known = self._known.get(place)
        if known is not None and now - known.since < known.seconds:
            return known.seconds
        seconds = FIRST_BACKOFF_SECONDS
        if known is not None and now - known.since <= 2 * MAX_BACKOFF_SECONDS:
            seconds = min(2 * known.seconds, MAX_BACKOFF_SECONDS)
        self._known[place] = _Backoff(seconds, now)
        return 0.0
