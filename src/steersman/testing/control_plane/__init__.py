# SPDX-License-Identifier: Apache-2.0
"""Real control plane for tests: etcd and kube-apiserver processes on loopback, like envtest for Go.

    with ControlPlane(Binaries.find(), directory) as plane, Steersman(plane):
        plane.admin.create_nodes(manifest(make_node("n1").capacity(cpu="4")))
        plane.admin.create(manifest(make_pod("web").req(cpu="1")))
        plane.admin.wait_until(lambda: bound_to(plane.admin.get("Pod", "web")) == "n1")

The API is synchronous. The schedulers under test, `Steersman` and upstream's `KubeScheduler`, and
upstream's controllers, `KubeControllerManager`, are processes too; `kubectl_command` and
`helm_command` run the real clients. `make e2e` builds the binaries; see `Binaries.find`.
"""

from steersman.testing.control_plane.binaries import KUBERNETES_VERSION, Binaries, BinariesMissingError
from steersman.testing.control_plane.client import KubeClient
from steersman.testing.control_plane.client_errors import ServerRefusal
from steersman.testing.control_plane.commands import ClientCommand, CommandError, helm_command, kubectl_command
from steersman.testing.control_plane.component import Component, ComponentError
from steersman.testing.control_plane.controller_manager import KubeControllerManager
from steersman.testing.control_plane.credentials import Authority, Identity
from steersman.testing.control_plane.manifests import JsonObject, bound_to, condition, manifest
from steersman.testing.control_plane.plane import ControlPlane
from steersman.testing.control_plane.schedulers import KubeScheduler, SchedulerProcess, Steersman
from steersman.testing.control_plane.shadow import ShadowProcess
from steersman.testing.control_plane.waiting import wait_until

__all__ = [
    "KUBERNETES_VERSION",
    "Authority",
    "Binaries",
    "BinariesMissingError",
    "ClientCommand",
    "CommandError",
    "Component",
    "ComponentError",
    "ControlPlane",
    "Identity",
    "JsonObject",
    "KubeClient",
    "KubeControllerManager",
    "KubeScheduler",
    "SchedulerProcess",
    "ServerRefusal",
    "ShadowProcess",
    "Steersman",
    "bound_to",
    "condition",
    "helm_command",
    "kubectl_command",
    "manifest",
    "wait_until",
]
