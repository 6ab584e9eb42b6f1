# SPDX-License-Identifier: Apache-2.0
"""The store of the embedded cluster, with the list and watch semantics of a kube-apiserver.

    store = Store(clock, admission=KubeAdmission())
    feed(store, ingest)                                   # the scheduler is notified of every change at once
    store.create(pod)
    Pods(store).bind("default", "web-0", pod.metadata.uid, "n1")

Simulations and tests run the scheduler on it. Writers call `Store`, `Pods` and `evict`; readers
list, `subscribe` or read `commits_since`; plugins use a `StoreReader`.
"""

from steersman.base import lazy_exports
from steersman.cluster.store.feed import feed as feed

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
            "AlreadyExists Conflict Expired Forbidden Invalid NamespaceTerminating NotFound "
            "OverLimit StatusError Timeout TooManyRequests"
        ),
        "eviction": "budgets_of evict",
        "feed": "feed",
        "finalizers": "CONTROLLED_FINALIZERS TERMINATING",
        "heartbeats": "Lease NODE_LEASES stop_heartbeat renew renewed_at resume_heartbeat",
        "history": "ADDED BOOKMARK Commit DELETED EventType MODIFIED",
        "pods": "Pods with_condition",
        "ports": "ObjectEventRecorder Timers ignore_event",
        "store": "Admission ClusterView Store",
        "store_reader": "StoreReader",
        "subscriptions": "Listener Subscription",
    },
)
