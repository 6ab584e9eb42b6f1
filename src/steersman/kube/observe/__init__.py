# SPDX-License-Identifier: Apache-2.0
"""Observability of a running scheduler: metrics, logs, decision records, dumps.

`AttemptMetrics` observes a scheduler for `Metrics`, `ServerMetrics` counts requests for
`ClientMetrics`; `Exposition` renders them. `HealthMetrics` and `pod_resources` are independent.
`DecisionLog` has the last decisions. `debugger` dumps cache and queue and compares them with the
listers; `logs` sets up logging. `serving` provides all of it over HTTPS.
"""

from steersman.base import lazy_exports
from steersman.kube.observe.pod_resources import pod_resources as pod_resources

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "attempt_metrics": "AttemptMetrics Exposition",
        "client_metrics": "ClientMetrics ServerMetrics",
        "debugger": (
            "CacheComparison DebuggerSnapshot Mismatch beside_scheduling cache_text debugger_snapshot dump_tasks in_slices "
            "queue_text"
        ),
        "decisions": "DecisionLog DecisionRecord",
        "handled_events": "HandledEvents NODE_UPDATE TimedIngest",
        "logs": "Log LogFormat ObjectRef SILENCE NullLog TextFormatter set_up",
        "metrics": "HealthMetrics Metrics exponential",
        "pod_resources": "pod_resources",
        "series": "CONTENT_TYPE Children Histogram MetricSet WithoutCreationTimes",
    },
)
