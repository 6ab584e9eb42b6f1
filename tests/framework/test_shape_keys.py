# SPDX-License-Identifier: Apache-2.0
"""The key of a shape holds every field of a pod but those that are known to decide nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.framework.field_walk import filled, replace, variations

from steersman import api
from steersman.framework.events import DEFAULT_POD_EVENTS, ActionType, ClusterEvent, EventResource
from steersman.framework.pod_info import PodShapes
from steersman.framework.pod_resources import pod_requests
from steersman.framework.shape_keys import FIELDS_NOT_IN_SHAPE_KEY, is_shape_unchanged, pinned_node, shape_key
from steersman.framework.significant_fields import field_getter
from steersman.testing import make_pod

SCALED_DOWN = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_SCALE_DOWN)
CLAIM_NAME = "spec.volumes.persistent_volume_claim.claim_name"
GROUP_NAME = "spec.scheduling_group.pod_group_name"


def is_left_out(path: str) -> bool:
    """Whether the field or one that it is part of is said to decide nothing."""
    return any(path == left_out or path.startswith(f"{left_out}.") for left_out in FIELDS_NOT_IN_SHAPE_KEY)


def test_a_change_of_any_field_changes_the_key_unless_the_field_decides_nothing() -> None:
    pod = filled(api.Pod)
    forgotten = {path for path, other in variations(pod) if shape_key(other) == shape_key(pod)}
    assert {path for path in forgotten if not is_left_out(path)} == set()


def test_every_field_that_is_said_to_decide_nothing_is_there_and_left_out_of_the_key() -> None:
    pod = filled(api.Pod)
    paths = {path for path, _ in variations(pod)}
    assert {left_out for left_out in FIELDS_NOT_IN_SHAPE_KEY if left_out not in paths} == set()
    noticed = {path for path, other in variations(pod) if shape_key(other) != shape_key(pod)}
    assert {path for path in noticed if is_left_out(path)} == set()


def test_an_update_keeps_the_shape_exactly_if_it_changes_what_decides_nothing() -> None:
    pod = filled(api.Pod)
    kept = {path for path, other in variations(pod) if is_shape_unchanged(pod, other)}
    changed = {path for path, other in variations(pod) if not is_shape_unchanged(pod, other)}
    assert {path for path in kept if not is_left_out(path)} == set()
    assert {path for path in changed if is_left_out(path)} == {CLAIM_NAME, GROUP_NAME}


def test_a_field_that_is_unknown_cannot_be_left_out() -> None:
    with pytest.raises(ValueError, match=r"spec: PodSpec has no field hostname"):
        field_getter(api.PodSpec, "spec", {"spec.hostname": "tells one pod from another"})


# -- pods that are pinned to a node ------------------------------------------------------------------------------------


def pinned_pod(node: str) -> api.Pod:
    """With every field set, as a DaemonSet would have made it for the node."""
    pod = filled(api.Pod)
    assert pod.spec.affinity is not None
    named = api.NodeSelectorRequirement(key="metadata.name", operator="In", values=(node,))
    term = api.NodeSelectorTerm(match_expressions=(filled(api.NodeSelectorRequirement),), match_fields=(named,))
    near = replace(
        filled(api.NodeAffinity),
        required_during_scheduling_ignored_during_execution=api.NodeSelector(node_selector_terms=(term,)),
    )
    affinity = replace(pod.spec.affinity, node_affinity=near)
    return replace(pod, spec=replace(pod.spec, affinity=affinity, topology_spread_constraints=()))


def test_pods_that_are_pinned_to_different_nodes_have_one_key() -> None:
    assert pinned_node(pinned_pod("n1").spec) == "n1"
    assert shape_key(pinned_pod("n1")) == shape_key(pinned_pod("n2"))
    assert not is_shape_unchanged(pinned_pod("n1"), pinned_pod("n2"))


def test_of_a_pinned_pod_only_the_name_of_the_node_is_left_out() -> None:
    pod = pinned_pod("n1")
    path = "spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution.node_selector_terms"
    forgotten = {
        (path, pinned_node(other.spec))
        for path, other in _variations_of_affinity(pod)
        if shape_key(other) == shape_key(pod)
    }
    assert forgotten == {(f"{path}.match_fields.values", "2")}


def _variations_of_affinity(pod: api.Pod) -> list[tuple[str, api.Pod]]:
    assert pod.spec.affinity is not None
    return [
        (f"spec.affinity.{path}", replace(pod, spec=replace(pod.spec, affinity=affinity)))
        for path, affinity in variations(pod.spec.affinity)
    ]


# -- pods of one template ----------------------------------------------------------------------------------------------


def with_token(pod: api.Pod, index: int) -> api.Pod:
    """As admission leaves it, with the volume of the service account token."""
    token = api.Volume(name=f"kube-api-access-{index:05d}")
    spec = replace(
        pod.spec, volumes=(*pod.spec.volumes, token), service_account_name="default", restart_policy="Always"
    )
    return replace(pod, spec=spec)


def of_deployment(index: int) -> api.Pod:
    return make_pod(f"web-5d4f-{index:05d}").label("app", "web").req(cpu="1").image("web:1").toleration("spot").obj()


def of_stateful_set(index: int) -> api.Pod:
    pod = make_pod(f"db-{index}").label("apps.kubernetes.io/pod-index", str(index)).req(cpu="1")
    return pod.pvc(f"data-db-{index}").obj()


def of_daemon_set(index: int) -> api.Pod:
    affinity = pinned_pod(f"node-{index}").spec.affinity
    pod = make_pod(f"agent-{index:05d}").req(cpu="100m").host_port(9100).obj()
    return replace(pod, spec=replace(pod.spec, affinity=affinity))


def of_job(index: int) -> api.Pod:
    pod = make_pod(f"render-{index}").label("batch.kubernetes.io/job-completion-index", str(index)).req(cpu="2")
    return pod.priority(index % 3).annotation("batch.kubernetes.io/job-completion-index", str(index)).obj()


def running(pod: api.Pod, index: int) -> api.Pod:
    """As its kubelet tells of it some time after it was bound."""
    ended = api.ContainerState(terminated=api.ContainerStateTerminated(exit_code=index % 2))
    statuses = tuple(
        api.ContainerStatus(name=c.name, resources=c.resources, restart_count=index, state=ended)
        for c in pod.spec.containers
    )
    since = f"2030-01-01T00:00:{index:02d}Z"
    conditions = tuple(
        api.Condition(type=name, status="True" if index % 2 else "False", last_transition_time=since)
        for name in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    )
    status = replace(pod.status, phase="Running", pod_ip=f"10.0.0.{index}", start_time=since)
    status = replace(status, container_statuses=statuses, conditions=conditions)
    return replace(pod, spec=replace(pod.spec, node_name=f"node-{index}"), status=status)


@pytest.mark.parametrize("template", [of_deployment, of_stateful_set, of_daemon_set, of_job])
def test_pods_of_a_workload_share_one_shape(template: Callable[[int], api.Pod]) -> None:
    shapes = PodShapes()
    infos = [shapes.info(with_token(template(index), index)) for index in range(30)]
    assert len({id(info.shape) for info in infos}) == 1


@pytest.mark.parametrize("template", [of_deployment, of_stateful_set, of_daemon_set, of_job])
def test_running_pods_of_a_workload_share_one_shape(template: Callable[[int], api.Pod]) -> None:
    shapes = PodShapes()
    infos = [shapes.info(running(with_token(template(index), index), index)) for index in range(30)]
    assert len({id(info.shape) for info in infos}) == 1


def test_a_pod_has_its_shape_before_and_after_it_was_scheduled() -> None:
    """The first condition of a pod says that it was."""
    pod = make_pod("p").obj()
    status = replace(pod.status, conditions=(api.Condition(type="PodScheduled", status="True"),))
    assert shape_key(replace(pod, status=status)) == shape_key(pod)


def test_a_resize_that_was_found_infeasible_makes_another_shape() -> None:
    pod = running(of_deployment(1), 1)
    pending = api.Condition(type="PodResizePending", status="True", reason="Infeasible")
    refused = replace(pod, status=replace(pod.status, conditions=(*pod.status.conditions, pending)))
    assert shape_key(refused) != shape_key(pod)
    assert not is_shape_unchanged(pod, refused)


# -- other keys --------------------------------------------------------------------------------------------------------


def test_whatever_makes_a_pod_request_less_is_told_as_an_event() -> None:
    pod = filled(api.Pod)
    pairs = [pair for path, other in variations(pod) for pair in ((path, pod, other), (path, other, pod))]
    shrunk = [(path, old, new) for path, old, new in pairs if requests_less(new, old)]
    assert len(shrunk) > 10
    assert {path for path, old, new in shrunk if SCALED_DOWN not in DEFAULT_POD_EVENTS.of_update(old, new)} == set()


def requests_less(new: api.Pod, old: api.Pod) -> bool:
    before, after = pod_requests(old), pod_requests(new)
    return any(after.get(name, 0) < amount for name, amount in before.items())
