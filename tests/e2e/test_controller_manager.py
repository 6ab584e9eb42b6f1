# SPDX-License-Identifier: Apache-2.0
"""The harness with kube-controller-manager and kubectl: a Deployment gets its pods, and they go with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from steersman.testing.control_plane import (
    ClientCommand,
    CommandError,
    ControlPlane,
    KubeControllerManager,
    kubectl_command,
)


def test_the_pods_of_a_deployment_come_and_go_with_it(new_plane: Callable[..., ControlPlane]) -> None:
    plane = new_plane(disabled_admission=())
    kubectl = kubectl_command(plane.binaries, plane.kubeconfig())
    with KubeControllerManager(plane):
        plane.admin.wait_until(lambda: plane.admin.find("ServiceAccount", "default"))
        kubectl("create", "deployment", "web", "--image=example.com/web", "--replicas=3")
        plane.admin.wait_until(lambda: len(plane.admin.list("Pod", "default")) == 3)

        kubectl("delete", "deployment", "web", "--cascade=foreground", "--timeout=30s")
        assert plane.admin.list("ReplicaSet", "default") == []
        assert plane.admin.list("Pod", "default") == []


def test_what_kubectl_says_when_it_fails_is_in_the_error(kubectl: ClientCommand) -> None:
    with pytest.raises(CommandError, match=r'kubectl get pod web: exit code 1: .*pods "web" not found'):
        kubectl("get", "pod", "web")
