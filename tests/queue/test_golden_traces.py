# SPDX-License-Identifier: Apache-2.0
"""Agreement with the queue of kube-scheduler on recorded traces."""

from __future__ import annotations

import logging

import pytest
from tests.golden_files import golden_lines

from steersman.testing.conformance.queue_traces import run_trace


def test_every_recorded_operation_leaves_our_queue_in_the_recorded_state(caplog: pytest.LogCaptureFixture) -> None:
    # Some plugins of the traces fail on purpose; a thousand tracebacks would say nothing.
    caplog.set_level(logging.CRITICAL)
    traces = list(golden_lines("queue.jsonl.gz"))
    differences = {trace["id"]: found for trace in traces if (found := run_trace(trace))}

    assert traces
    assert differences == {}
