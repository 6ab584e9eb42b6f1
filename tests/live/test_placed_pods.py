# SPDX-License-Identifier: Apache-2.0
"""A pod that has a node: where would it go now, and does its node still win?"""

from __future__ import annotations

from tests.live.asking import cluster, explained

from steersman.testing import make_node, make_pod


def test_its_own_requests_do_not_count_against_its_node() -> None:
    server = cluster(nodes=1)
    server.store.create(make_pod("web").req(cpu="4").node("n0").phase("Running").obj())
    answer = explained(server, "web")
    assert answer.summary == "n0 is the only node that fits now"
    assert answer.node == answer.explanation.node == "n0"


def test_its_own_labels_do_not_count_against_its_node() -> None:
    server = cluster(nodes=2)
    web = make_pod("web").label("app", "web").anti_affinity("kubernetes.io/hostname", {"app": "web"})
    server.store.create(web.node("n0").phase("Running").obj())
    assert explained(server, "web").explanation.node_explanation("n0").fits


def test_a_node_that_others_have_overtaken_is_reported_by_how_much() -> None:
    server = cluster(nodes=2)
    server.store.create(make_pod("web").req(cpu="1").node("n0").phase("Running").obj())
    server.store.create(make_pod("busy").req(cpu="3").node("n0").phase("Running").obj())
    answer = explained(server, "web")
    best, own = answer.explanation.node_explanation("n1").total, answer.explanation.node_explanation("n0").total
    assert answer.summary == f"n0 would not be chosen now: its score is {own}, and n1 has {best}"
    assert answer.requeue_events == ()


def test_a_node_that_would_win_again() -> None:
    server = cluster(nodes=2)
    server.store.create(make_pod("web").req(cpu="1").node("n0").phase("Running").obj())
    server.store.create(make_pod("busy").req(cpu="3").node("n1").phase("Running").obj())
    assert explained(server, "web").summary.startswith("n0 would be chosen again, with a score of ")


def test_a_node_that_does_not_fit_any_more() -> None:
    server = cluster(nodes=1)
    server.store.create(make_node("cordoned").capacity(cpu="4", pods="10").unschedulable().obj())
    server.store.create(make_pod("web").req(cpu="1").node("cordoned").phase("Running").obj())
    answer = explained(server, "web")
    assert answer.summary == "cordoned would not be chosen now: NodeUnschedulable: node(s) were unschedulable"


def test_a_node_that_is_gone() -> None:
    server = cluster(nodes=1)
    server.store.create(make_pod("web").req(cpu="1").node("vanished").phase("Running").obj())
    assert explained(server, "web").summary == "vanished no longer exists"


def test_the_phase_is_that_of_the_api_server_also_of_a_pod_that_no_kubelet_has_started() -> None:
    server = cluster(nodes=1)
    server.store.create(make_pod("bound").req(cpu="1").node("n0").phase("Pending").obj())
    server.store.create(make_pod("started").req(cpu="1").node("n0").phase("Running").obj())
    assert explained(server, "bound").phase == "Pending"
    assert explained(server, "started").phase == "Running"
