# SPDX-License-Identifier: Apache-2.0
"""Plans ask the extenders of a configuration where that is wanted: a real HTTP server has its say."""

from __future__ import annotations

from tests.simulation.test_extenders_in_simulations import LicenceServer, served

from steersman import Simulation, plan
from steersman.testing import make_node, make_pod


def test_nodes_that_an_extender_refuses_take_no_pods() -> None:
    nodes = [
        make_node(name).capacity(cpu="2", memory="4Gi", pods=10).label("maintenance", closed).obj()
        for name, closed in (("open", "false"), ("closed", "true"))
    ]
    server = LicenceServer()
    with served(server) as address:
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "extenders": [{"urlPrefix": address, "filterVerb": "filter"}],
        }
        pod = make_pod("web").req(cpu="1").obj()
        alone = plan.capacity(Simulation.load(nodes, config=config), [pod])
        asked = plan.capacity(Simulation.load(nodes, config=config, extenders=True), [pod])
    assert (alone.fits, asked.fits) == (4, 2)
    assert asked.per_node == {"open": 2, "closed": 0}
    assert asked.limits == {"Insufficient cpu": ["open"], "in maintenance": ["closed"]}
    assert any("extenders" in note for note in alone.notes)
    assert set(server.asked) == {"filter"}
