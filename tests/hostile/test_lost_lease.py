# SPDX-License-Identifier: Apache-2.0
"""A lease that is taken away, or whose renewals hang, while bindings, conditions and events are under way: no write follows.

Times are those of the machine's monotonic clock, which the process and the stub share.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.hostile.process import SteersmanProcess, schedules_pods, with_nodes
from tests.hostile.stub_api_server import LEASES, PODS, Canned, Received, StubApiServer

from steersman.testing import make_pod
from steersman.testing.control_plane import manifest, wait_until

LEASE: Final = "kube-system/kube-scheduler"
LEASE_PATH: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
RENEW_DEADLINE: Final = 3.0
RETRY_PERIOD: Final = 1.0
#: Between the check in the process and the time that the stub notes; generous, because machines are busy.
SLACK_SECONDS: Final = 0.5
CONFIG: Final[dict[str, Any]] = {
    "leaderElection": {
        "leaseDuration": "6s",
        "renewDeadline": f"{RENEW_DEADLINE:g}s",
        "retryPeriod": f"{RETRY_PERIOD:g}s",
    }
}


@pytest.fixture
def server() -> Iterator[StubApiServer]:
    with StubApiServer() as stub:
        yield with_nodes(stub, 4)


def busy(server: StubApiServer) -> None:
    """More pods than can be written of in a moment: some fit, some do not, and the server takes its time with all of them."""
    server.answer("POST", "/api/v1/namespaces/default/pods", lambda request: _slowly(server, request))
    for index in range(200):
        server.put(PODS, manifest(make_pod(f"fits-{index}").req(cpu="10m")))
        server.put(PODS, manifest(make_pod(f"huge-{index}").req(cpu="100")))


def _slowly(server: StubApiServer, request: Received) -> Canned | None:
    code, body = server.true_answer(request)
    return Canned(code, body, delay=0.3)


def test_nothing_is_written_after_another_has_taken_the_lease(server: StubApiServer, tmp_path: Path) -> None:
    with SteersmanProcess(server, tmp_path, config=CONFIG, leader_elect=True) as steersman:
        assert schedules_pods(server, "early")
        busy(server)
        wait_until(lambda: len(server.bindings()) > 10, what="bindings")
        _usurp(server)
        assert steersman.wait() == 1
        learned = _told_of_the_usurper(server)
        late = [write for write in server.writes() if write.at > learned + SLACK_SECONDS]
        assert late == []
        assert _conditions_of_bound_pods(server) == {"True"}


@pytest.mark.parametrize("method", ["PUT", ""], ids=["renewals hang", "every request for the lease hangs"])
def test_nothing_is_written_after_the_deadline_of_a_lease_that_cannot_be_renewed(
    server: StubApiServer, tmp_path: Path, method: str
) -> None:
    with SteersmanProcess(server, tmp_path, config=CONFIG, leader_elect=True) as steersman:
        assert schedules_pods(server, "early")
        since = time.monotonic()
        server.answer(method, LEASE_PATH, Canned(500, b"{}", delay=60))
        busy(server)
        wait_until(lambda: len(server.bindings()) > 10, what="bindings")
        assert steersman.wait() == 1
        renewed = max(one.at for one in server.received("P") if "/leases" in one.path and one.at < since)
        late = [write for write in server.writes() if write.at > renewed + RENEW_DEADLINE + SLACK_SECONDS]
        assert late == []


def test_a_binding_without_an_answer_is_no_failure_of_the_pod(server: StubApiServer, tmp_path: Path) -> None:
    """The server binds the pod and does not say so before the lease is lost."""

    def bind_and_be_silent(request: Received) -> Canned | None:
        if not request.path.endswith("/binding"):
            return None
        server.true_answer(request)
        return Canned(201, b"{}", delay=30)

    with SteersmanProcess(server, tmp_path, config=CONFIG, leader_elect=True) as steersman:
        assert schedules_pods(server, "early")
        server.answer("POST", "/api/v1/namespaces/default/pods", bind_and_be_silent)
        server.put(PODS, manifest(make_pod("web").req(cpu="10m")))
        wait_until(lambda: "default/web" in server.bindings(), what="the binding")
        _usurp(server)
        assert steersman.wait() == 1
        assert server.conditions("default/web").get("PodScheduled", {"status": "True"})["status"] == "True"
        assert not [one for one in server.received("PATCH") if "/web/" in one.path]


def _usurp(server: StubApiServer) -> None:
    lease = server.object(LEASES, LEASE)
    lease["spec"] = {"holderIdentity": "usurper", "leaseDurationSeconds": 3600, "leaseTransitions": 7}
    server.put(LEASES, lease)


def _told_of_the_usurper(server: StubApiServer) -> float:
    """When the process asked who holds the lease after its own renewal was refused."""
    return max(one.at for one in server.received("GET", LEASE_PATH))


def _conditions_of_bound_pods(server: StubApiServer) -> set[str]:
    names = [name for name in server.bindings() if server.object(PODS, name)["spec"].get("nodeName")]
    return {server.conditions(name).get("PodScheduled", {"status": "True"})["status"] for name in names}
