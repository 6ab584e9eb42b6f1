# SPDX-License-Identifier: Apache-2.0
"""Each rule of the judgement holds for a run that went well, and fails for the fault that it is there to find."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.chaos.audit_trail import AuditedRequest, LifeKey
from tests.chaos.chaos_report import report_lines
from tests.chaos.chaos_run import ChaosOptions, RunRecord
from tests.chaos.fault_injection import FaultRecord
from tests.chaos.fault_schedule import plan_faults
from tests.chaos.final_state import FinalState
from tests.chaos.judgement import judge
from tests.chaos.kubelets import Overcommitment
from tests.chaos.replicas import STEERSMAN, ProcessLife
from tests.chaos.run_measures import stalls

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import manifest

A1 = LifeKey("a", 1)
MINUTES = 10
END = 60.0 * MINUTES
MB = 1_000_000


def request(verb: str, resource: str, name: str, at: float, *, sender: LifeKey | None = A1) -> AuditedRequest:
    return AuditedRequest(verb, resource, "probes", name, sender, at, at, at + 0.01, 201, "a1")


def probe(number: int, at: float, latency: float = 0.02) -> list[AuditedRequest]:
    name = f"probe-{number}"
    return [request("create", "pods", name, at, sender=None), request("create", "pods/binding", name, at + latency)]


@pytest.fixture
def record() -> RunRecord:
    """A run in which all went well: one process, a renewal and a probe each second."""
    made = RunRecord(ChaosOptions(plan_faults(MINUTES, 1), STEERSMAN), began=0.0, load_ended=END)
    made.lives = [
        ProcessLife("a", 1, 0.0, END, 0, "SIGTERM", [(float(second), 100 * MB) for second in range(int(END))])
    ]
    for second in range(int(END)):
        made.requests.append(request("update", "leases", "kube-scheduler", float(second)))
        made.requests += probe(second, second + 0.5)
    made.final = FinalState([on_node("web", "n1")], [manifest(make_node("n1").capacity(cpu="1"))], 1.0, "")
    made.last_exit_codes = {"a": 0}
    return made


def on_node(name: str, node: str, cpu: str = "1") -> dict[str, object]:
    return manifest(make_pod(name).req(cpu=cpu).node(node))


def failing(record: RunRecord) -> list[str]:
    return [verdict.rule for verdict in judge(record).verdicts if not verdict.holds]


def test_a_run_that_went_well_passes(record: RunRecord) -> None:
    assert not failing(record)


def test_a_pod_without_node_and_reason_fails(record: RunRecord) -> None:
    record.final.pods.append(manifest(make_pod("lost")))
    assert failing(record) == ["bound once or a reason"]


def test_a_pod_that_was_bound_twice_fails(record: RunRecord) -> None:
    record.requests.append(request("create", "pods/binding", "probe-7", 50.0))
    assert failing(record) == ["bound once or a reason"]


def test_a_pod_that_was_seen_on_two_nodes_fails(record: RunRecord) -> None:
    record.nodes_seen["default/web"] = ["n1", "n2"]
    assert failing(record) == ["bound once or a reason"]


def test_a_write_without_the_lease_fails(record: RunRecord) -> None:
    record.requests.append(request("patch", "pods/status", "web", 50.0, sender=LifeKey("b", 1)))
    assert failing(record) == ["no write without lease"]


def test_a_leader_with_wrong_beliefs_fails(record: RunRecord) -> None:
    record.final.wrong_beliefs = "nodes with other pods than the server has: n1"
    assert failing(record) == ["cache equals server"]


@pytest.mark.parametrize("factor", [0.8, 1.2])
def test_memory_that_is_not_where_it_was_fails(record: RunRecord, factor: float) -> None:
    grown = [(time, int(size * (factor if time > END / 2 else 1))) for time, size in record.lives[0].memory]
    record.lives[0].memory = grown
    assert failing(record) == ["flat memory"]


def test_memory_of_a_process_that_ended_early_shows_nothing(record: RunRecord) -> None:
    record.lives[0].memory = record.lives[0].memory[:200]
    assert failing(record) == ["flat memory"]


def test_a_standby_that_is_elected_may_take_more_memory(record: RunRecord) -> None:
    grown = [(float(second), (100 if second < END / 2 else 150) * MB) for second in range(int(END))]
    record.lives.append(ProcessLife("b", 1, 0.0, END, 0, "SIGTERM", grown))
    assert failing(record) == ["flat memory"]
    record.requests += [request("update", "leases", "kube-scheduler", END / 2 + 0.1, sender=LifeKey("b", 1))]
    assert "flat memory" not in failing(record)


def test_a_slow_end_fails(record: RunRecord) -> None:
    slow = [replace(one, answered=one.received + 0.5) if one.received > END / 2 else one for one in record.requests]
    record.requests = slow
    assert failing(record) == ["flat latency"]


def test_an_end_without_bindings_fails(record: RunRecord) -> None:
    record.requests = [one for one in record.requests if one.resource != "pods/binding" or one.received < END / 2]
    assert failing(record) == ["flat latency"]


def test_a_node_with_more_than_it_has_fails(record: RunRecord) -> None:
    record.final.pods.append(on_node("too-much", "n1", "1m"))
    assert failing(record) == ["no node overcommitted"]


def test_a_node_that_had_more_than_it_has_for_a_while_fails(record: RunRecord) -> None:
    record.overcommitted.append(Overcommitment(31.0, "n0", 2001, 2000, ("probes/early", "probes/probe-30")))
    (verdict,) = (verdict for verdict in judge(record).verdicts if not verdict.holds)
    assert verdict.rule == "no node overcommitted"
    assert verdict.text == "n0: 2001m of 2000m CPU, at 31.0 s (probes/probe-30 by a1 at 30.52 s)"


@pytest.mark.parametrize(("code", "signal"), [(2, ""), (3, ""), (0, ""), (-11, "SIGKILL"), (2, "SIGTERM")])
def test_an_end_that_no_fault_explains_fails(record: RunRecord, code: int, signal: str) -> None:
    record.lives.append(ProcessLife("b", 1, 0.0, 10.0, code, signal))
    assert failing(record) == ["exit codes and logs"]


@pytest.mark.parametrize(("code", "signal"), [(1, ""), (-9, "SIGKILL"), (0, "SIGTERM")])
def test_an_end_by_a_fault_or_a_lost_lease_is_in_order(record: RunRecord, code: int, signal: str) -> None:
    record.lives.append(ProcessLife("b", 1, 0.0, 10.0, code, signal))
    assert not failing(record)


@pytest.mark.parametrize("line", ["Traceback (most recent call last):", "panic: runtime error", "x: internal error: y"])
def test_an_error_of_the_program_in_its_log_fails(record: RunRecord, line: str) -> None:
    record.logs["a"] = f"all is well\n{line}\n"
    assert failing(record) == ["exit codes and logs"]


def test_a_time_without_bindings_is_shown_with_the_faults_in_it(record: RunRecord) -> None:
    record.faults = [
        FaultRecord(1, "etcd-asleep", "server", 100.0, 110.0),
        FaultRecord(2, "clock-jump", "a", 200.0, 200.0),
    ]
    record.requests = [one for one in record.requests if not 100 < one.received < 120 or one.resource != "pods/binding"]
    [stall] = stalls(record)
    assert (round(stall.begin), round(stall.seconds), stall.faults) == (100, 21, ["etcd-asleep"])


def test_the_report_fits_a_terminal(record: RunRecord) -> None:
    record.final.wrong_beliefs = "a long story " * 20
    found = judge(record)
    lines = list(report_lines([found, found]))
    assert max(map(len, lines)) <= 100
    assert any(line.startswith("  FAILS  cache equals server") for line in lines)
