"""What operators see of a running scheduler: metrics, logs, decision records, dumps.

`MeasuredScheduler` is `assembly.Scheduler` with `Metrics`; `Exposition` renders them. `DecisionLog` keeps the last decisions.
`debugger` shows cache and queue and compares them with the listers; `logs` sets up logging. `serving` puts all of it on
HTTPS.
"""

from steersman.observe.debugger import Comparison, Mismatch, compare, dump_cache, dump_queue
from steersman.observe.decisions import DecisionLog, DecisionRecord, explain_now
from steersman.observe.exposition import CONTENT_TYPE, Exposition
from steersman.observe.logs import Format, Log, ObjectRef, set_up
from steersman.observe.measured_scheduler import MeasuredScheduler
from steersman.observe.metrics import Metrics
from steersman.observe.timed_ingest import TimedIngest

__all__ = [
    "CONTENT_TYPE",
    "Comparison",
    "DecisionLog",
    "DecisionRecord",
    "Exposition",
    "Format",
    "Log",
    "MeasuredScheduler",
    "Metrics",
    "Mismatch",
    "ObjectRef",
    "TimedIngest",
    "compare",
    "dump_cache",
    "dump_queue",
    "explain_now",
    "set_up",
]
