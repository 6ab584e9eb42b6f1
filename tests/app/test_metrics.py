# SPDX-License-Identifier: Apache-2.0
"""Metrics of a running scheduler, seen by somebody who may see everything."""

from __future__ import annotations

import asyncio

from tests.app.running import QUICK, answer, cluster, free_port, running_program
from tests.client.dispatching import stored
from tests.client.following import until
from tests.client.serving import run

from steersman import api
from steersman.api import timestamps
from steersman.base.clock import RealClock
from steersman.kube.client.lease import Lease, LeaseSpec
from steersman.kube.serving import AccessOptions
from steersman.run.app import ServingOptions
from steersman.testing import make_pod


def test_a_leader_shows_itself_its_requests_and_its_pods() -> None:
    async def scenario() -> None:
        server = cluster()
        server.store.create(make_pod("web").req(cpu="1").obj())
        serving = ServingOptions("127.0.0.1", free_port(), access=AccessOptions(open_paths=["/*"]))
        async with running_program(server, QUICK, serving):
            await until(lambda: stored(server, "web").spec.node_name)
            status, text = await answer(serving, "/metrics")
            assert status == 200
            assert 'leader_election_master_status{name="kube-scheduler"} 1.0' in text
            assert 'method="POST"} ' in text
            assert 'rest_client_requests_total{code="201",' in text
            assert 'kubernetes_feature_enabled{name="NodeDeclaredFeatures",stage=""} 1.0' in text
            assert 'pod="web"' in (await answer(serving, "/metrics/resources"))[1]
            assert 'type="livez"' not in (await answer(serving, "/metrics/slis"))[1]
            await answer(serving, "/livez")
            assert 'type="livez"' in (await answer(serving, "/metrics/slis"))[1]

    run(scenario())


def test_a_standby_exports_no_pending_pods() -> None:
    async def scenario() -> None:
        server = cluster()
        renewed = timestamps.render_micro(RealClock().now())
        spec = LeaseSpec(holder_identity="another", lease_duration_seconds=600, renew_time=renewed)
        server.store.create(Lease(metadata=api.ObjectMeta(name="kube-scheduler", namespace="kube-system"), spec=spec))
        server.store.create(make_pod("web").req(cpu="1").obj())
        serving = ServingOptions("127.0.0.1", free_port(), access=AccessOptions(open_paths=["/*"]))
        async with running_program(server, QUICK, serving):
            while (await answer(serving, "/readyz"))[0] != 200:
                await asyncio.sleep(0.01)
            text = (await answer(serving, "/metrics"))[1]
            assert 'leader_election_master_status{name="kube-scheduler"} 0.0' in text
            assert 'scheduler_pending_pods{queue="active"} 0.0' in text

    run(scenario())
