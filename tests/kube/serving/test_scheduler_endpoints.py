# SPDX-License-Identifier: Apache-2.0
"""A whole scheduler behind the server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from aiohttp import ClientSession, ClientTimeout
from tests.kube.observe.measured_cluster import MeasuredCluster
from tests.kube.serving.reviews import Reviews

from steersman import api
from steersman.base.clock import ManualClock
from steersman.kube.observe import DecisionLog
from steersman.kube.serving import AccessControl, AccessOptions, Endpoints, Listen, Listers, Server, scheduler_endpoints
from steersman.testing import make_node


@pytest.fixture
def cluster() -> Iterator[MeasuredCluster]:
    measured = MeasuredCluster()
    yield measured
    measured.tasks.close()


def endpoints(cluster: MeasuredCluster, *more_nodes: api.Node) -> Endpoints:
    decisions = DecisionLog(cluster.scheduler)
    for decision in cluster.run():
        decisions.carried_out(decision)
    listers = Listers(
        nodes=lambda: [*cluster.store.objects(api.Node).values(), *more_nodes],
        pods=lambda: cluster.store.objects(api.Pod).values(),
    )
    return scheduler_endpoints(cluster.scheduler, cluster.exposition, decisions, listers, flags={"v": "2"})


def get(served: Endpoints, path: str) -> str:
    return asyncio.run(_get(served, path))


async def _get(served: Endpoints, path: str) -> str:
    access = AccessControl(Reviews(), ManualClock(), AccessOptions(open_paths=["/*"]))
    async with (
        Server(Listen("127.0.0.1", 0), served, access) as server,
        ClientSession(timeout=ClientTimeout(10), raise_for_status=True) as session,
        session.get(f"http://127.0.0.1:{server.port}{path}") as response,
    ):
        return await response.text()


def test_metrics_tell_of_the_scheduler(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web")
    text = get(endpoints(cluster), "/metrics")
    assert 'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1.0' in text
    assert 'scheduler_cache_size{type="pods"} 1.0' in text


def test_resources_of_pods_are_metrics_of_their_own(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web", cpu="1500m")
    text = get(endpoints(cluster), "/metrics/resources")
    labels = 'namespace="default",node="n1",pod="web",priority="0",resource="cpu",scheduler="",unit="cores"'
    assert f"kube_pod_resource_request{{{labels}}} 1.5" in text
    assert "scheduler_" not in text


def test_health_checks_count_when_they_are_examined(cluster: MeasuredCluster) -> None:
    served = endpoints(cluster)
    assert "kubernetes_healthcheck{" not in get(served, "/metrics/slis")
    get(served, "/livez")
    text = get(served, "/metrics/slis")
    assert 'kubernetes_healthcheck{name="ping",type="livez"} 1.0' in text
    assert 'kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 1.0' in text


def test_dumps_show_cache_and_queue(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web")
    cluster.add_pod("big", cpu="9")
    served = endpoints(cluster)
    cache = get(served, "/debug/cache")
    assert cache.startswith("The cache agrees with the listers.\n\nNode name: n1\n")
    assert "name: web, namespace: default" in cache
    assert "name: big, namespace: default" in get(served, "/debug/queue")


def test_the_dump_of_the_cache_begins_with_what_is_wrong(cluster: MeasuredCluster) -> None:
    text = get(endpoints(cluster, make_node("unseen").obj()), "/debug/cache")
    assert text.startswith("Cache mismatch: missedNodes=['unseen']")


def test_decisions_and_their_explanations_are_shown(cluster: MeasuredCluster) -> None:
    cluster.add_pod("big", cpu="9")
    served = endpoints(cluster)
    assert "Insufficient cpu" in get(served, "/debug/decisions")
    assert "NodeResourcesFit: Insufficient cpu" in get(served, "/debug/decisions/default/big?explain=table")


def test_the_configuration_is_shown_with_its_defaults(cluster: MeasuredCluster) -> None:
    assert '"resourceName": "kube-scheduler"' in get(endpoints(cluster), "/configz")


def test_profiling_shows_what_tasks_do(cluster: MeasuredCluster) -> None:
    assert " tasks\n\nTask-" in get(endpoints(cluster), "/debug/tasks")


def test_flags_and_status_are_shown(cluster: MeasuredCluster) -> None:
    served = endpoints(cluster)
    assert get(served, "/flagz").endswith("\nv=2\n")
    assert "Paths: /configz /debug /flagz /healthz /livez /metrics /readyz" in get(served, "/statusz")
