# SPDX-License-Identifier: Apache-2.0
"""The base of all controllers: a queue of keys that want to be looked at, and what happens to one that fails.

A controller subscribes to the kinds that concern it and enqueues the keys of its own objects; `reconcile` then makes the
cluster what the object asks for. Changes of one moment lead to one call. It reads the store as it is and writes at once, so
that nothing it knows can be out of date. A key that fails is tried again after a while, as client-go's queues do it, and
holds up no other.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from steersman.api import Object, OwnerReference
from steersman.embedded import ObjectEventRecorder, StatusError, Store, Timers, ignore_event
from steersman.internal_errors import InternalErrors

FIRST_RETRY_SECONDS: Final = 0.005
LONGEST_RETRY_SECONDS: Final = 1000.0

logger = logging.getLogger(__name__)


def never() -> bool:
    return False


class Cluster(NamedTuple):
    """All that controllers work with."""

    store: Store
    timers: Timers
    record: ObjectEventRecorder = ignore_event
    #: Where programming errors are counted; None lets them through, as simulations do.
    faults: InternalErrors | None = None
    #: Whether pods stay whose owners were never there, and finished pods in any number: for partial dumps of clusters, and
    #: for results that are looked at later.
    keeps_remains: bool = False
    #: Whether the present callback has run for so long that others should have a turn; simulations have no others.
    is_overdue: Callable[[], bool] = never


class Controller(ABC):
    """Reconciles objects by key. Derive from it, subscribe in `__init__`, implement `reconcile`."""

    #: As in the names of upstream's controllers: "deployment".
    NAME: str

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.store = cluster.store
        self._waiting: dict[str, None] = {}
        self._failures: Counter[str] = Counter()
        self._is_due = False
        #: When keys are to be enqueued, by whether that happens in the background.
        self._later: tuple[dict[str, float], dict[str, float]] = ({}, {})

    @abstractmethod
    def reconcile(self, key: str) -> None:
        """Makes the cluster what the object asks for, as far as it can now; the object may be gone. May be called at any
        time and does nothing when nothing is to be done. A `StatusError` that it raises leads to another try."""

    def enqueue(self, key: str) -> None:
        """Has the key reconciled at the present moment, after what happens now."""
        self._waiting[key] = None
        if not self._is_due:
            self._is_due = True
            self.cluster.timers.call_at(self.store.clock.monotonic(), self._reconcile_all)

    def enqueue_after(self, key: str, seconds: float, *, is_background: bool = False) -> None:
        """Has the key reconciled so many seconds from now; see `Timers.call_at` for `is_background`.

        Of several calls the earliest counts, as in client-go's queues: `reconcile` then asks for another look if it needs one.
        """
        time = self.store.clock.monotonic() + max(0.0, seconds)
        later = self._later[is_background]
        if later.get(key, math.inf) <= time:
            return
        later[key] = time
        due = partial(self._enqueue_due, key, time, is_background)
        self.cluster.timers.call_at(time, due, is_background=is_background)

    def call_after(self, seconds: float, callback: Callable[[], None], *, is_background: bool = False) -> None:
        """Calls back when so many seconds have passed."""
        time = self.store.clock.monotonic() + max(0.0, seconds)
        self.cluster.timers.call_at(time, callback, is_background=is_background)

    def _enqueue_due(self, key: str, time: float, is_background: bool) -> None:
        """Enqueues the key, unless an earlier look was asked for after this one."""
        later = self._later[is_background]
        if later.get(key) == time:
            del later[key]
            self.enqueue(key)

    def _reconcile_all(self) -> None:
        """Reconciles until somebody else is to have a turn; what is left then comes first in the next one."""
        self._is_due = False
        waiting, self._waiting = self._waiting, {}
        while waiting:
            name = next(iter(waiting))
            del waiting[name]
            self._reconcile_one(name)
            if waiting and self.cluster.is_overdue():
                self._waiting = waiting | self._waiting
                self.enqueue(next(iter(waiting)))
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
        """Whoever caused the refusal may never go away, so that nobody is to wait for the next try."""
        seconds = FIRST_RETRY_SECONDS * 2.0 ** min(self._failures[name], 30)
        self._failures[name] += 1
        self.enqueue_after(name, min(seconds, LONGEST_RETRY_SECONDS), is_background=True)


def owned_key(obj: Object, kind: type[Object]) -> str | None:
    """The key of the controller of `kind` to which the object belongs, by its owner reference; None if to none."""
    owner = controller_of(obj)
    if owner is None or owner.kind != kind.KIND or group(owner.api_version) != group(kind.API_VERSION):
        return None
    return f"{obj.metadata.namespace}/{owner.name}"


def controller_of(obj: Object) -> OwnerReference | None:
    """The one owner that manages the object, None without."""
    for owner in obj.metadata.owner_references:
        if owner.controller:
            return owner
    return None


def controller_reference(owner: Object) -> OwnerReference:
    """The owner reference of an object that `owner` manages."""
    return OwnerReference(
        api_version=owner.API_VERSION,
        kind=owner.KIND,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )


def group(api_version: str) -> str:
    """`apps` of `apps/v1`, "" of `v1`."""
    return api_version.rpartition("/")[0]
