# SPDX-License-Identifier: Apache-2.0
"""Newer versions of a pod share its shape when nothing that makes it has changed."""

from __future__ import annotations

import msgspec

from steersman.api import ContainerStatus, Pod, ResourceRequirements
from steersman.framework.pod_info import PodShapes
from steersman.testing import make_pod

replace = msgspec.structs.replace


def a_pod() -> Pod:
    return make_pod("p").label("app", "web").req(cpu="1").toleration("key").obj()


def test_a_binding_or_a_new_phase_leaves_the_shape_alone() -> None:
    shapes, pod = PodShapes(), a_pod()
    info = shapes.info(pod)
    bound = replace(pod, spec=replace(pod.spec, node_name="n1"), status=replace(pod.status, phase="Running"))
    updated = shapes.updated(info, bound)
    assert updated.shape is info.shape
    assert updated.pod is bound
    assert len(shapes) == 1


def test_equal_parts_that_are_other_objects_lead_to_the_same_shape() -> None:
    shapes = PodShapes()
    info = shapes.info(a_pod())
    assert shapes.updated(info, a_pod()).shape is info.shape


def test_a_changed_part_leads_to_another_shape() -> None:
    shapes, pod = PodShapes(), a_pod()
    info = shapes.info(pod)
    changed = replace(pod, spec=replace(pod.spec, tolerations=()))
    assert shapes.updated(info, changed).shape is not info.shape


def test_resources_in_the_status_are_examined() -> None:
    shapes, pod = PodShapes(), a_pod()
    info = shapes.info(pod)
    used = ContainerStatus(name=pod.spec.containers[0].name, resources=ResourceRequirements(requests={"cpu": "2"}))
    resized = replace(pod, status=replace(pod.status, container_statuses=(used,)))
    updated = shapes.updated(info, resized)
    assert updated.requests("cpu") == 2000
    assert shapes.updated(updated, pod).requests("cpu") == 1000
