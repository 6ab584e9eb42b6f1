# SPDX-License-Identifier: Apache-2.0
"""The store of the embedded cluster, with the list and watch semantics of a kube-apiserver.

    store = Store(clock, admission=KubeAdmission())
    feed(store, ingest)                                   # the scheduler is notified of every change at once
    store.create(pod)
    Pods(store).bind("default", "web-0", pod.metadata.uid, "n1")

Simulations and tests run the scheduler on it. Writers call `Store`, `Pods` and `evict`; readers
list, `watch` or `subscribe`; plugins use a `StoreReader`.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports
from steersman.cluster.store.feed import feed as feed

__all__: list[str]
if TYPE_CHECKING:
    from steersman.cluster.store.admission import KubeAdmission as KubeAdmission, in_creation_order as in_creation_order
    from steersman.cluster.store.admission.pod_security import enforce_pod_security as enforce_pod_security
    from steersman.cluster.store.admission.pods import (
        DEFAULT_TOLERATIONS as DEFAULT_TOLERATIONS,
        PodAdmission as PodAdmission,
    )
    from steersman.cluster.store.admission.quotas import (
        QuotaExcess as QuotaExcess,
        QuotaLedger as QuotaLedger,
        quota_ledger as quota_ledger,
    )
    from steersman.cluster.store.admission.workloads import template_labels as template_labels
    from steersman.cluster.store.deletion import Propagation as Propagation, delete as delete
    from steersman.cluster.store.documents import Document as Document, document_of as document_of, typed as typed
    from steersman.cluster.store.errors import (
        AlreadyExists as AlreadyExists,
        Conflict as Conflict,
        Expired as Expired,
        Forbidden as Forbidden,
        Invalid as Invalid,
        NamespaceTerminating as NamespaceTerminating,
        NotFound as NotFound,
        OverLimit as OverLimit,
        StatusError as StatusError,
        Timeout as Timeout,
        TooManyRequests as TooManyRequests,
    )
    from steersman.cluster.store.eviction import budgets_of as budgets_of, evict as evict
    from steersman.cluster.store.finalizers import (
        CONTROLLED_FINALIZERS as CONTROLLED_FINALIZERS,
        TERMINATING as TERMINATING,
    )
    from steersman.cluster.store.heartbeats import (
        NODE_LEASES as NODE_LEASES,
        Lease as Lease,
        fall_silent as fall_silent,
        renew as renew,
        renewed_at as renewed_at,
        resume_heartbeat as resume_heartbeat,
    )
    from steersman.cluster.store.history import (
        ADDED as ADDED,
        BOOKMARK as BOOKMARK,
        DELETED as DELETED,
        MODIFIED as MODIFIED,
        Commit as Commit,
        EventType as EventType,
    )
    from steersman.cluster.store.pods import Pods as Pods
    from steersman.cluster.store.ports import (
        ObjectEventRecorder as ObjectEventRecorder,
        Timers as Timers,
        ignore_event as ignore_event,
    )
    from steersman.cluster.store.store import Admission as Admission, ClusterView as ClusterView, Store as Store
    from steersman.cluster.store.store_reader import StoreReader as StoreReader
    from steersman.cluster.store.subscriptions import Listener as Listener, Subscription as Subscription
    from steersman.cluster.store.watch import Watch as Watch, WatchEvent as WatchEvent
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "admission": "KubeAdmission in_creation_order",
            "admission.pod_security": "enforce_pod_security",
            "admission.pods": "DEFAULT_TOLERATIONS PodAdmission",
            "admission.quotas": "QuotaExcess QuotaLedger quota_ledger",
            "admission.workloads": "template_labels",
            "deletion": "Propagation delete",
            "documents": "Document document_of typed",
            "errors": (
                "AlreadyExists Conflict Expired Forbidden Invalid NamespaceTerminating "
                "NotFound OverLimit StatusError Timeout TooManyRequests"
            ),
            "eviction": "budgets_of evict",
            "feed": "feed",
            "finalizers": "CONTROLLED_FINALIZERS TERMINATING",
            "heartbeats": "Lease NODE_LEASES fall_silent renew renewed_at resume_heartbeat",
            "history": "ADDED BOOKMARK Commit DELETED EventType MODIFIED",
            "pods": "Pods",
            "ports": "ObjectEventRecorder Timers ignore_event",
            "store": "Admission ClusterView Store",
            "store_reader": "StoreReader",
            "subscriptions": "Listener Subscription",
            "watch": "Watch WatchEvent",
        },
    )
