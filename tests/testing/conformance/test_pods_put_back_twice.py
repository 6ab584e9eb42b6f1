# SPDX-License-Identifier: Apache-2.0
"""Queue traces in which a pod is put back although it is queued: the reference changes it where it is."""

from __future__ import annotations

from typing import Any

from steersman.testing.conformance.queue_traces import run_trace

Document = dict[str, Any]

CONFIG: Document = {
    "startMs": 0,
    "initialBackoffMs": 1000,
    "maxBackoffMs": 10000,
    "maxUnschedulableMs": 300000,
    "namespaces": {},
    "profiles": {"default-scheduler": {"preEnqueue": [], "hints": []}},
}
POD: Document = {
    "metadata": {"name": "p", "namespace": "ns", "uid": "u", "resourceVersion": "1"},
    "spec": {"schedulerName": "default-scheduler"},
}
NOTHING: Document = {
    "active": [],
    "backoff": [],
    "errorBackoff": [],
    "unschedulable": [],
    "gated": [],
    "inFlight": [],
    "nominated": {},
    "cycle": 1,
}
INFO: Document = {"uid": "u", "rv": "1", "ts": 1, "init": 1, "attempts": 0, "unschedulableCount": 0, "errorCount": 0}
FAILED: Document = {**INFO, "q": "errorBackoff", "ts": 4, "attempts": 1, "errorCount": 1, "until": 1000}


def put_back(at: int, plugins: list[str], result: Document, info: Document) -> Document:
    return {
        "op": "fail",
        "t": at,
        "uid": "u",
        "raw": True,
        "unschedulablePlugins": plugins,
        "pendingPlugins": [],
        "result": {"path": "requeue", **result},
        "state": {**NOTHING, "errorBackoff": ["ns/p"]},
        "changed": {"ns/p": info},
    }


def test_what_it_is_said_to_have_failed_with_is_kept() -> None:
    added = {**NOTHING, "active": ["ns/p"], "cycle": 0}
    popped = {"popped": "ns/p", "info": {**INFO, "attempts": 1}}
    taken = {**NOTHING, "inFlight": ["pod:u"]}
    refusal = {"error": "Pod ns/p is already present in the backoff queue"}
    incoming = "scheduler_queue_incoming_pods_total"
    trace = {
        "config": CONFIG,
        "ops": [
            {
                "op": "add",
                "t": 1,
                "pod": POD,
                "result": {},
                "state": added,
                "changed": {"ns/p": {**INFO, "q": "active"}},
            },
            {"op": "pop", "t": 2, "result": popped, "state": taken, "changed": {"ns/p": None}},
            {"op": "done", "t": 3, "uid": "u", "result": {}, "state": NOTHING, "changed": {}},
            put_back(4, [], {}, FAILED),
            put_back(5, ["Fit"], refusal, {**FAILED, "unschedulablePlugins": ["Fit"]}),
        ],
        "metrics": {
            f"{incoming},event=UnschedulablePodAdd,queue=active": 1,
            f"{incoming},event=ScheduleAttemptFailure,queue=backoff": 1,
            "scheduler_pending_pods,queue=backoff": 1,
        },
    }
    assert run_trace(trace) == []
