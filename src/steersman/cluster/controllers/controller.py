# SPDX-License-Identifier: Apache-2.0
"""Base class of all controllers: a queue of keys to reconcile, with retries.

A controller subscribes to kinds and enqueues keys of its own objects; `reconcile` then brings the
cluster to the state that the object describes. Simultaneous changes are coalesced into one call.
Controllers read and write the store directly, so their view is never stale. A failed key is retried
with exponential backoff, as by client-go's queues, without blocking other keys.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from steersman.api import KINDS, Object, OwnerReference, Selector
from steersman.base import InternalErrors
from steersman.cluster.store import ObjectEventRecorder, StatusError, Store, Timers, ignore_event
from steersman.cluster.store.admission.workloads import template_labels

FIRST_RETRY_SECONDS: Final = 0.005
MAX_RETRY_SECONDS: Final = 1000.0
FAILED_CREATE: Final = "FailedCreate"
TEMPLATE_NOT_SELECTED: Final = (
    "spec.template.metadata.labels: Invalid value: {}: `selector` does not match template `labels`"
)

logger = logging.getLogger(__name__)


def never() -> bool:
    return False


class Cluster(NamedTuple):
    """Dependencies of controllers."""

    store: Store
    timers: Timers
    record: ObjectEventRecorder = ignore_event
    #: Counter of programming errors; None to raise them, as in simulations.
    faults: InternalErrors | None = None
    #: Whether to retain finished pods and pods with unknown owners: for partial dumps, and for
    #: results that are inspected later.
    retains_pods: bool = False
    #: Whether the current callback has used up its time slice; never in simulations.
    is_overdue: Callable[[], bool] = never


class Controller(ABC):
    """Reconciles objects by key. Subclasses subscribe in `__init__` and implement `reconcile`."""

    #: Upstream's name of the controller, such as "deployment".
    NAME: str

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.store = cluster.store
        self._waiting: dict[str, None] = {}
        self._failures: Counter[str] = Counter()
        self._is_due = False
        #: Key → time at which it is enqueued; in the foreground and in the background.
        self._later: tuple[dict[str, float], dict[str, float]] = ({}, {})

    @abstractmethod
    def reconcile(self, key: str) -> None:
        """Bring the cluster to the state that the object describes; the object may be deleted. Must
        be idempotent. A `StatusError` causes a retry."""

    def enqueue(self, key: str) -> None:
        """Enqueue the key to be reconciled at the current time, after the current callback."""
        self._waiting[key] = None
        if not self._is_due:
            self._is_due = True
            self.cluster.timers.call_at(self.store.clock.monotonic(), self._reconcile_all)

    def enqueue_after(self, key: str, seconds: float, *, is_background: bool = False) -> None:
        """Enqueue the key after a number of seconds; see `Timers.call_at` for `is_background`.

        The earliest of several calls applies, as in client-go's queues; `reconcile` enqueues the
        key again if necessary.
        """
        time = self.store.clock.monotonic() + max(0.0, seconds)
        later = self._later[is_background]
        if later.get(key, math.inf) <= time:
            return
        later[key] = time
        due = partial(self._enqueue_due, key, time, is_background)
        self.cluster.timers.call_at(time, due, is_background=is_background)

    def is_template_selected(self, owner: Object, selector: Selector, template: dict[str, Any]) -> bool:
        """Return whether the selector matches the template's labels; if not, record a warning.

        An API server rejects such an owner: its pods would be released and replaced endlessly.
        """
        labels = template_labels(template)
        if selector.matches(labels):
            return True
        message = f"Error creating: {TEMPLATE_NOT_SELECTED.format(labels)}"
        self.cluster.record(owner, FAILED_CREATE, message, is_warning=True)
        return False

    def call_after(self, seconds: float, callback: Callable[[], None], *, is_background: bool = False) -> None:
        """Call back after a number of seconds."""
        time = self.store.clock.monotonic() + max(0.0, seconds)
        self.cluster.timers.call_at(time, callback, is_background=is_background)

    def _enqueue_due(self, key: str, time: float, is_background: bool) -> None:
        """Enqueue the key unless it has been enqueued for an earlier time."""
        later = self._later[is_background]
        if later.get(key) == time:
            del later[key]
            self.enqueue(key)

    def _reconcile_all(self) -> None:
        """Reconcile until the time slice ends; the remaining keys come first in the next one."""
        self._is_due = False
        waiting, self._waiting = self._waiting, {}
        # Not one `del` for each: the first key of a dict is found behind all that were deleted.
        names = iter(waiting)
        for name in names:
            self._reconcile_one(name)
            if self.cluster.is_overdue() and (remaining := dict.fromkeys(names)):
                self._waiting = remaining | self._waiting
                self.enqueue(next(iter(remaining)))
                return

    def _reconcile_one(self, name: str) -> None:
        try:
            self.reconcile(name)
        except StatusError as refusal:
            logger.debug("%s controller: %s: %s", self.NAME, name, refusal.message)
            self._retry(name)
        except Exception as error:
            if self.cluster.faults is None:
                raise
            self.cluster.faults.survived(f"{self.NAME} controller", name, error)
            self._retry(name)
        else:
            self._failures.pop(name, None)

    def _retry(self, name: str) -> None:
        """Enqueue the key with backoff, in the background because the error may be permanent."""
        seconds = FIRST_RETRY_SECONDS * 2.0 ** min(self._failures[name], 30)
        self._failures[name] += 1
        self.enqueue_after(name, min(seconds, MAX_RETRY_SECONDS), is_background=True)


def owned_key(obj: Object, kind: type[Object]) -> str | None:
    """Return the key of the controller in the owner references if it is of `kind`, else None."""
    owner = controller_of(obj)
    if owner is None or owner.kind != kind.KIND or group(owner.api_version) != group(kind.API_VERSION):
        return None
    return f"{obj.metadata.namespace}/{owner.name}"


def controller_of(obj: Object) -> OwnerReference | None:
    """Return the owner reference of the object's controller, or None."""
    for owner in obj.metadata.owner_references:
        if owner.controller:
            return owner
    return None


def find_owner(store: Store, owner: OwnerReference, namespace: str) -> Object | None:
    """Return the object that an owner reference names; None if it is not in the store."""
    kind = KINDS.get(owner.kind)
    found = None if kind is None else store.find(kind, f"{namespace}/{owner.name}")
    return found if found is not None and found.metadata.uid == owner.uid else None


def controller_reference(owner: Object) -> OwnerReference:
    """Return the owner reference for objects that `owner` controls."""
    return OwnerReference(
        api_version=owner.API_VERSION,
        kind=owner.KIND,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )


def group(api_version: str) -> str:
    """Return the API group: `apps` of `apps/v1`, "" of `v1`."""
    return api_version.rpartition("/")[0]
