# SPDX-License-Identifier: Apache-2.0
"""Observability of a running scheduler: metrics, logs, decision records, dumps.

`AttemptMetrics` observes a scheduler for `Metrics`, `ServerMetrics` counts requests for
`ClientMetrics`; `Exposition` renders them. `HealthMetrics` and `pod_resources` are independent.
`DecisionLog` has the last decisions. `debugger` dumps cache and queue and compares them with the
listers; `logs` sets up logging. `serving` provides all of it over HTTPS.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports
from steersman.kube.observe.pod_resources import pod_resources as pod_resources

__all__: list[str]
if TYPE_CHECKING:
    from steersman.kube.observe.attempt_metrics import AttemptMetrics as AttemptMetrics, Exposition as Exposition
    from steersman.kube.observe.client_metrics import (
        ClientMetrics as ClientMetrics,
        ServerMetrics as ServerMetrics,
    )
    from steersman.kube.observe.debugger import (
        Beliefs as Beliefs,
        CacheComparison as CacheComparison,
        Mismatch as Mismatch,
        beliefs as beliefs,
        beside_scheduling as beside_scheduling,
        cache_text as cache_text,
        dump_tasks as dump_tasks,
        in_slices as in_slices,
        queue_text as queue_text,
    )
    from steersman.kube.observe.decisions import (
        DecisionLog as DecisionLog,
        DecisionRecord as DecisionRecord,
    )
    from steersman.kube.observe.handled_events import (
        NODE_UPDATE as NODE_UPDATE,
        HandledEvents as HandledEvents,
        TimedIngest as TimedIngest,
    )
    from steersman.kube.observe.logs import (
        SILENCE as SILENCE,
        Log as Log,
        LogFormat as LogFormat,
        ObjectRef as ObjectRef,
        Silence as Silence,
        TextFormatter as TextFormatter,
        set_up as set_up,
    )
    from steersman.kube.observe.metrics import (
        HealthMetrics as HealthMetrics,
        Metrics as Metrics,
        exponential as exponential,
    )
    from steersman.kube.observe.series import (
        CONTENT_TYPE as CONTENT_TYPE,
        Children as Children,
        Histogram as Histogram,
        MetricSet as MetricSet,
        WithoutCreationTimes as WithoutCreationTimes,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "attempt_metrics": "AttemptMetrics Exposition",
            "client_metrics": "ClientMetrics ServerMetrics",
            "debugger": (
                "Beliefs CacheComparison Mismatch beliefs beside_scheduling cache_text dump_tasks in_slices queue_text"
            ),
            "decisions": "DecisionLog DecisionRecord",
            "handled_events": "HandledEvents NODE_UPDATE TimedIngest",
            "logs": "Log LogFormat ObjectRef SILENCE Silence TextFormatter set_up",
            "metrics": "HealthMetrics Metrics exponential",
            "pod_resources": "pod_resources",
            "series": "CONTENT_TYPE Children Histogram MetricSet WithoutCreationTimes",
        },
    )
