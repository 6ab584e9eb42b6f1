# SPDX-License-Identifier: Apache-2.0
"""Pods that need a feature of the kubelet go to nodes that declare it."""

from __future__ import annotations

import msgspec
import pytest
from tests.plugins.handles import FakeHandle

from steersman.api import Container, ContainerRestartRule, ObjectMeta, Pod, PodSpec
from steersman.framework.cycle_state import CycleState
from steersman.framework.events import ActionType, ClusterEvent, EventResource, QueueingHint
from steersman.framework.pod_info import PodShapes
from steersman.framework.status import SKIP, Code, Status, unresolvable
from steersman.scheduler.plugins.node_declared_features import ERR_REASON, NodeDeclaredFeatures
from steersman.testing import make_node, make_pod

RESTART_ALL = "RestartAllContainersOnContainerExits"
USER_NAMESPACES = "UserNamespacesHostNetworkSupport"

RESTARTING = Container(name="c", restart_policy_rules=(ContainerRestartRule(action="RestartAllContainers"),))
HOST_NETWORK_IN_USER_NAMESPACE = PodSpec(host_network=True, host_users=False)


def plugin(*, enabled: bool = True) -> NodeDeclaredFeatures:
    return NodeDeclaredFeatures(None, FakeHandle(gates={"NodeDeclaredFeatures": enabled}))


def verdict(spec: PodSpec, *declared: str) -> Status | None:
    features, state, pod = plugin(), CycleState(), PodShapes().info(Pod(spec=spec))
    node = make_node().declared_features(*declared).info()
    assert features.pre_filter(state, pod, [node]) is None
    return features.filter(state, pod, node)


def pod_of(spec: PodSpec, uid: str = "1") -> Pod:
    return Pod(metadata=ObjectMeta(name="p", uid=uid), spec=spec)


@pytest.mark.parametrize(
    ("spec", "feature"),
    [
        pytest.param(PodSpec(containers=(Container(name="a"), RESTARTING)), RESTART_ALL, id="container restart rule"),
        pytest.param(PodSpec(init_containers=(RESTARTING,)), RESTART_ALL, id="init container restart rule"),
        pytest.param(HOST_NETWORK_IN_USER_NAMESPACE, USER_NAMESPACES, id="user namespace on the host network"),
    ],
)
def test_a_pod_fits_only_where_the_feature_it_needs_is_declared(spec: PodSpec, feature: str) -> None:
    assert verdict(spec, feature) is None
    assert verdict(spec, "ExtendWebSocketsToKubelet", feature) is None
    assert verdict(spec, "ExtendWebSocketsToKubelet") == unresolvable(ERR_REASON)
    assert verdict(spec) == unresolvable(ERR_REASON)


def test_all_needed_features_must_be_declared() -> None:
    both = PodSpec(containers=(RESTARTING,), host_network=True, host_users=False)

    assert verdict(both, RESTART_ALL, USER_NAMESPACES) is None
    assert verdict(both, RESTART_ALL) == unresolvable(ERR_REASON)
    assert verdict(both, USER_NAMESPACES) == unresolvable(ERR_REASON)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(PodSpec(), id="nothing special"),
        pytest.param(PodSpec(host_network=True), id="host network in the host's user namespace"),
        pytest.param(PodSpec(host_network=True, host_users=True), id="explicitly so"),
        pytest.param(PodSpec(host_users=False), id="user namespace without host network"),
        pytest.param(
            PodSpec(containers=(Container(restart_policy_rules=(ContainerRestartRule(action="Restart"),)),)),
            id="rule that restarts one container",
        ),
    ],
)
def test_a_pod_that_needs_no_feature_leaves_the_plugin_out(spec: PodSpec) -> None:
    assert plugin().pre_filter(CycleState(), PodShapes().info(Pod(spec=spec)), []) is SKIP


def test_without_its_feature_gate_the_plugin_does_nothing() -> None:
    pod = PodShapes().info(Pod(spec=HOST_NETWORK_IN_USER_NAMESPACE))

    assert plugin(enabled=False).pre_filter(CycleState(), pod, []) is SKIP
    assert plugin(enabled=False).filter(CycleState(), pod, make_node().info()) is None
    assert plugin(enabled=False).events_to_register() == ()


def test_without_pre_filter_the_filter_reports_a_fault() -> None:
    status = plugin().filter(CycleState(), make_pod().info(), make_node().info())

    message = 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'
    assert status == Status(Code.ERROR, (message,))


def test_it_registers_for_nodes_with_other_features_and_for_updates_of_pods() -> None:
    nodes, pods = plugin().events_to_register()

    assert nodes.event == ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE)
    assert nodes.hint is not None
    assert pods.event == ClusterEvent(EventResource.POD, ActionType.UPDATE)
    assert pods.hint is not None


def test_a_new_node_wakes_the_pod() -> None:
    hint = plugin().after_node_change(make_pod().obj(), None, make_node().declared_features(RESTART_ALL).obj())

    assert hint is QueueingHint.QUEUE


def test_a_node_wakes_the_pod_when_its_declared_features_change() -> None:
    bare, declaring = make_node(), make_node().declared_features(RESTART_ALL)

    assert plugin().after_node_change(make_pod().obj(), bare.obj(), declaring.obj()) is QueueingHint.QUEUE
    assert plugin().after_node_change(make_pod().obj(), declaring.obj(), declaring.obj()) is QueueingHint.SKIP


def test_an_update_of_the_pod_wakes_it_when_it_needs_other_features() -> None:
    plain, demanding = pod_of(PodSpec()), pod_of(HOST_NETWORK_IN_USER_NAMESPACE)

    assert plugin().after_pod_update(demanding, demanding, plain) is QueueingHint.QUEUE
    assert plugin().after_pod_update(plain, plain, demanding) is QueueingHint.QUEUE


def test_an_update_of_the_pod_that_leaves_the_features_alone_does_not_wake_it() -> None:
    pod = pod_of(HOST_NETWORK_IN_USER_NAMESPACE)
    labelled = msgspec.structs.replace(pod, metadata=ObjectMeta(name="p", uid="1", labels={"foo": "bar"}))

    assert plugin().after_pod_update(pod, pod, labelled) is QueueingHint.SKIP


def test_an_update_of_another_pod_does_not_wake_it() -> None:
    other_before, other_now = pod_of(HOST_NETWORK_IN_USER_NAMESPACE, uid="2"), pod_of(PodSpec(), uid="2")

    hint = plugin().after_pod_update(pod_of(HOST_NETWORK_IN_USER_NAMESPACE), other_before, other_now)

    assert hint is QueueingHint.SKIP
