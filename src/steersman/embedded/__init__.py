# SPDX-License-Identifier: Apache-2.0
"""The embedded cluster: an in-process store with the list and watch semantics of a kube-apiserver.

    store = Store(clock, admission=KubeAdmission())
    feed(store, ingest)                                   # the scheduler hears of every object, at once
    VolumeController(store, timers)                       # claims get volumes
    ResourceClaimController(store)                        # pods get claims for devices
    store.create(pod)
    Pods(store).bind("default", "web-0", pod.metadata.uid, "n1")

Simulations and tests run the scheduler on it. Writers call `Store`, `Pods` and `evict`; readers list, `watch` or `subscribe`,
plugins ask a `StoreReader`.
"""

from steersman.embedded.admission import KubeAdmission, in_creation_order
from steersman.embedded.deletion import Propagation, delete
from steersman.embedded.documents import Document
from steersman.embedded.ephemeral_claims import EphemeralClaims
from steersman.embedded.errors import (
    AlreadyExists,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NamespaceTerminating,
    NotFound,
    OverLimit,
    StatusError,
    Timeout,
    TooManyRequests,
)
from steersman.embedded.eviction import evict
from steersman.embedded.feed import feed
from steersman.embedded.finalizers import CONTROLLED_FINALIZERS
from steersman.embedded.heartbeats import fall_silent, resume_heartbeat
from steersman.embedded.history import ADDED, BOOKMARK, DELETED, MODIFIED, Commit, EventType
from steersman.embedded.pods import Pods
from steersman.embedded.ports import ObjectEventRecorder, Timers, ignore_event
from steersman.embedded.resource_claims import ResourceClaimController
from steersman.embedded.store import Admission, ClusterView, Store
from steersman.embedded.store_reader import StoreReader
from steersman.embedded.subscriptions import Listener, Subscription
from steersman.embedded.volumes import VolumeController
from steersman.embedded.watch import Watch, WatchEvent

__all__ = [
    "ADDED",
    "BOOKMARK",
    "CONTROLLED_FINALIZERS",
    "DELETED",
    "MODIFIED",
    "Admission",
    "AlreadyExists",
    "ClusterView",
    "Commit",
    "Conflict",
    "Document",
    "EphemeralClaims",
    "EventType",
    "Expired",
    "Forbidden",
    "Invalid",
    "KubeAdmission",
    "Listener",
    "NamespaceTerminating",
    "NotFound",
    "ObjectEventRecorder",
    "OverLimit",
    "Pods",
    "Propagation",
    "ResourceClaimController",
    "StatusError",
    "Store",
    "StoreReader",
    "Subscription",
    "Timeout",
    "Timers",
    "TooManyRequests",
    "VolumeController",
    "Watch",
    "WatchEvent",
    "delete",
    "evict",
    "fall_silent",
    "feed",
    "ignore_event",
    "in_creation_order",
    "resume_heartbeat",
]
