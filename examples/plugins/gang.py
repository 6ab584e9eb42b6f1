# SPDX-License-Identifier: Apache-2.0
"""All pods of a gang, or none: pods with the label `gang` wait until as many of them have a node as `gang-size` says."""

from steersman import framework as fw

WAIT_SECONDS = 30.0


class Gang(fw.PermitPlugin, fw.ReservePlugin):
    name = "Gang"

    def __init__(self, args: object, handle: fw.PermitHandle) -> None:
        self.handle = handle

    def permit(self, pod: fw.PodInfo, node_name: str) -> fw.PermitResult | None:
        if "gang" not in pod.labels:
            return None
        waiting = self.members(pod)
        if len(waiting) + 1 < int(pod.labels["gang-size"]):
            return fw.PermitResult(fw.Status(fw.Code.WAIT), WAIT_SECONDS)
        for member in waiting:
            member.allow(self.name)
        return None

    def reserve(self, pod: fw.PodInfo, node_name: str) -> None:
        """The node is counted when the pod waits there."""

    def unreserve(self, pod: fw.PodInfo, node_name: str) -> None:
        """One that cannot go on takes the others with it: they make room for another gang."""
        if "gang" in pod.labels:
            for member in self.members(pod):
                member.reject(self.name, f"gang member {pod.name} has no node")

    def members(self, pod: fw.PodInfo) -> list[fw.WaitingPod]:
        """Those of the pod's gang that wait for the others."""
        gang = pod.namespace, pod.labels["gang"]
        return [w for w in self.handle.pods.waiting_pods() if (w.pod.namespace, w.pod.labels.get("gang")) == gang]
