# SPDX-License-Identifier: Apache-2.0
"""The views that operators have of a running scheduler: metrics, logs, decision records, dumps.

`AttemptMetrics` observes a scheduler for `Metrics`, `MeasuredTransport` is a `client.Transport` with `ClientMetrics`;
`Exposition` renders them. `HealthMetrics` and `pod_resources` stand for themselves. `DecisionLog` keeps the last decisions.
`debugger` shows cache and queue and compares them with the listers; `logs` sets up logging. `serving` puts all of it on
HTTPS.
"""

from steersman.observe.attempt_metrics import AttemptMetrics, Exposition
from steersman.observe.client_metrics import ClientMetrics, MeasuredTransport
from steersman.observe.debugger import (
    Beliefs,
    CacheComparison,
    Mismatch,
    beliefs,
    beside_scheduling,
    cache_text,
    dump_tasks,
    in_slices,
    queue_text,
)
from steersman.observe.decisions import DecisionLog, DecisionRecord, explain_now
from steersman.observe.handled_events import HandledEvents, TimedIngest
from steersman.observe.logs import Log, LogFormat, ObjectRef, set_up
from steersman.observe.metrics import HealthMetrics, Metrics
from steersman.observe.pod_resources import pod_resources
from steersman.observe.series import CONTENT_TYPE

__all__ = [
    "CONTENT_TYPE",
    "AttemptMetrics",
    "Beliefs",
    "CacheComparison",
    "ClientMetrics",
    "DecisionLog",
    "DecisionRecord",
    "Exposition",
    "HandledEvents",
    "HealthMetrics",
    "Log",
    "LogFormat",
    "MeasuredTransport",
    "Metrics",
    "Mismatch",
    "ObjectRef",
    "TimedIngest",
    "beliefs",
    "beside_scheduling",
    "cache_text",
    "dump_tasks",
    "explain_now",
    "in_slices",
    "pod_resources",
    "queue_text",
    "set_up",
]
