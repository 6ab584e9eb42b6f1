"""Agreement with the queue of kube-scheduler on recorded traces."""

from __future__ import annotations

import gzip
import json
import logging

import pytest
from tests.golden_files import golden

from steersman.conformance.queue_traces import run_trace


def test_every_recorded_operation_leaves_our_queue_in_the_recorded_state(caplog: pytest.LogCaptureFixture) -> None:
    # Some plugins of the traces fail on purpose; a thousand tracebacks would say nothing.
    caplog.set_level(logging.CRITICAL)
    with gzip.open(golden("queue.jsonl.gz"), "rt", encoding="utf-8") as lines:
        traces = [json.loads(line) for line in lines]
    differences = {trace["id"]: found for trace in traces if (found := run_trace(trace))}

    assert traces
    assert differences == {}
