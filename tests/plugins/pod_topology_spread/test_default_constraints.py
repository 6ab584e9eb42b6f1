# SPDX-License-Identifier: Apache-2.0
"""Pods without constraints of their own are spread by the defaults if a service or controller selects them."""

from __future__ import annotations

import pytest
from tests.plugins.handles import FakeObjects
from tests.plugins.pod_topology_spread.spreading import (
    NO_DEFAULTS,
    NODE_A,
    NODE_B,
    WEB,
    ZONE,
    fitting,
    four_nodes,
    node,
    replicas,
    scores,
    spread_plugin,
    verdicts,
    web,
)

from steersman import api
from steersman.config import DefaultingType, PodTopologySpreadArgs
from steersman.framework.cycle_state import CycleState
from steersman.framework.status import SKIP
from steersman.scheduler.plugins.pod_topology_spread import PodTopologySpread
from steersman.scheduler.plugins.pod_topology_spread.default_selector import default_selector
from steersman.scheduler.state.plain_node import PlainNodeInfo
from steersman.testing import (
    Expression,
    PodBuilder,
    exists,
    make_node,
    make_pod,
    make_replica_set,
    make_replication_controller,
    make_service,
    make_stateful_set,
)

SYSTEM = PodTopologySpreadArgs()
HARD_ZONE = PodTopologySpreadArgs(
    default_constraints=(
        api.TopologySpreadConstraint(topology_key=ZONE, max_skew=1, when_unsatisfiable="DoNotSchedule"),
        api.TopologySpreadConstraint(topology_key=api.HOSTNAME_LABEL, max_skew=1, when_unsatisfiable="ScheduleAnyway"),
    ),
    defaulting_type=DefaultingType.LIST,
)
SERVICE = make_service("web").selector(WEB).obj()


def plugin(nodes: list[PlainNodeInfo], args: PodTopologySpreadArgs, *objects: api.Object) -> PodTopologySpread:
    return spread_plugin(nodes, args, objects)


def test_listed_defaults_filter_and_score() -> None:
    nodes = four_nodes(2, 1, 0, 2)

    assert fitting(web(), nodes, plugin(nodes, HARD_ZONE, SERVICE)) == "xy"
    assert scores(web(), nodes, plugin=plugin(nodes, HARD_ZONE, SERVICE)) == [0, 50, 100, 0]


def test_defaults_do_not_apply_to_pods_that_nothing_selects() -> None:
    nodes = four_nodes(2, 1, 0, 2)

    assert plugin(nodes, HARD_ZONE).pre_filter(CycleState(), web().info(), nodes) == SKIP
    assert plugin(nodes, HARD_ZONE, SERVICE).pre_filter(CycleState(), make_pod().info(), nodes) == SKIP
    assert plugin(nodes, SYSTEM).pre_score(CycleState(), web().info(), nodes) == SKIP


def test_constraints_of_the_pod_replace_the_defaults() -> None:
    nodes = four_nodes(2, 1, 0, 2)
    pod = web().spread(api.HOSTNAME_LABEL, max_skew=2, selector=WEB)

    assert fitting(pod, nodes, plugin(nodes, HARD_ZONE, SERVICE)) == "bx"
    assert plugin(nodes, HARD_ZONE, SERVICE).pre_score(CycleState(), pod.info(), nodes) == SKIP


def test_without_defaults_nothing_happens() -> None:
    nodes = four_nodes(2, 1, 0, 2)

    assert plugin(nodes, NO_DEFAULTS, SERVICE).pre_filter(CycleState(), web().info(), nodes) == SKIP
    assert plugin(nodes, NO_DEFAULTS, SERVICE).pre_score(CycleState(), web().info(), nodes) == SKIP


def test_system_defaults_never_reject() -> None:
    nodes = four_nodes(2, 1, 0, 2)

    assert plugin(nodes, SYSTEM, SERVICE).pre_filter(CycleState(), web().info(), nodes) == SKIP


def test_system_defaults_spread_over_hosts_where_there_are_no_zones() -> None:
    nodes = [node(name).info(*replicas(count)) for name, count in zip("abcd", (4, 3, 2, 1), strict=True)]

    assert scores(web(), nodes, plugin=plugin(nodes, SYSTEM, SERVICE)) == [44, 66, 77, 100]


def test_system_defaults_spread_over_hosts_and_zones() -> None:
    first = [node(name).label(api.ZONE_LABEL, "z1").info(*replicas(1)) for name in "ab"]
    second = node("x").label(api.ZONE_LABEL, "z2").info(*replicas(1))
    nodes = [*first, second, node("bare").info()]

    assert scores(web(), nodes, plugin=plugin(nodes, SYSTEM, SERVICE)) == [18, 18, 36, 100]


def test_listed_defaults_ignore_nodes_without_their_labels() -> None:
    nodes = [*four_nodes(0, 0, 0, 0), make_node("bare").info()]

    assert scores(web(), nodes, plugin=plugin(nodes, HARD_ZONE, SERVICE))[-1] == 0
    assert verdicts(web(), nodes, plugin(nodes, HARD_ZONE, SERVICE))["bare"] is not None


@pytest.mark.parametrize(
    ("objects", "pod", "expected"),
    [
        pytest.param([], web(), "", id="nothing"),
        pytest.param([SERVICE], web(), "app=web", id="a service"),
        pytest.param([SERVICE], make_pod(), "", id="a service of other pods"),
        pytest.param([make_service("all").obj()], web(), "", id="a service without selector"),
        pytest.param(
            [SERVICE, make_service("db").selector({"tier": "db"}).obj()],
            web().label("tier", "db"),
            "app=web,tier=db",
            id="two services",
        ),
        pytest.param([make_service("web").namespace("other").selector(WEB).obj()], web(), "", id="another namespace"),
        pytest.param(
            [SERVICE, make_replication_controller("rc").selector({"tier": "db"}).obj()],
            web().owner("ReplicationController", "rc"),
            "app=web,tier=db",
            id="a replication controller",
        ),
        pytest.param(
            [make_replica_set("rs").selector(exists("app")).obj()],
            web().owner("ReplicaSet", "rs"),
            "app",
            id="a replica set",
        ),
        pytest.param(
            [SERVICE, make_stateful_set("ss").selector({"tier": "db"}).obj()],
            web().owner("StatefulSet", "ss"),
            "app=web,tier=db",
            id="a service and a stateful set",
        ),
        pytest.param([SERVICE], web().owner("ReplicaSet", "gone"), "app=web", id="a controller that is gone"),
        pytest.param(
            [make_replica_set("rs").selector(exists("app")).obj()],
            web().owner("ReplicaSet", "rs", controller=False),
            "",
            id="an owner that does not control",
        ),
        pytest.param(
            [SERVICE, make_replica_set("rs").obj()],
            web().owner("ReplicaSet", "rs"),
            "app=web",
            id="a replica set without selector",
        ),
        pytest.param(
            [SERVICE, make_replica_set("rs").selector(Expression("app", "Near")).obj()],
            web().owner("ReplicaSet", "rs"),
            "app=web",
            id="a replica set with a wrong selector",
        ),
        pytest.param([SERVICE], web().owner("Job", "job"), "app=web", id="a controller of another kind"),
    ],
)
def test_the_selector_joins_services_and_the_controller(
    objects: list[api.Object], pod: PodBuilder, expected: str
) -> None:
    assert str(default_selector(pod.obj(), FakeObjects(objects))) == expected


def test_owners_of_another_api_group_do_not_count() -> None:
    rs = make_replica_set("rs").selector(exists("app")).obj()
    pod = api.Pod(
        metadata=api.ObjectMeta(
            namespace="default",
            labels=WEB,
            owner_references=(
                api.OwnerReference(api_version="example.com/v1", kind="ReplicaSet", name="rs", controller=True),
            ),
        )
    )

    assert default_selector(pod, FakeObjects([rs])).empty


def test_replicas_of_one_controller_share_the_zone_counts() -> None:
    rs = make_replica_set("rs").selector(exists("app")).obj()
    pod = web().owner("ReplicaSet", "rs")
    nodes = [NODE_A.info(*replicas(1)), NODE_B.info(), *four_nodes(0, 0, 0, 0)[2:]]

    assert fitting(pod, nodes, plugin(nodes, HARD_ZONE, rs)) == "xy"
