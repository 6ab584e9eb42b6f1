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

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "binaries": "Binaries BinariesMissingError KUBERNETES_VERSION",
        "client": "KubeClient",
        "commands": "ClientCommand CommandError helm_command kubectl_command",
        "component": "Component ComponentError wait_until",
        "connections": "ServerRefusal",
        "credentials": "Authority Identity",
        "manifests": "JsonObject bound_to condition manifest",
        "plane": "ControlPlane",
        "schedulers": "KubeControllerManager KubeScheduler SchedulerProcess ShadowProcess Steersman",
    },
)
