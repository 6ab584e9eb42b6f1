# SPDX-License-Identifier: Apache-2.0
"""What the volume controller and a CSI provisioner do in a real cluster, as far as a scheduler waits for it."""

from __future__ import annotations

import threading
from typing import Final, Self

from steersman.testing.control_plane import JsonObject, KubeClient, ServerRefusal

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
HOSTNAME: Final = "kubernetes.io/hostname"
_INTERVAL: Final = 0.1


class VolumeControllers:
    """Completes bindings that the scheduler began, and makes volumes for claims for which it chose a node."""

    def __init__(self, admin: KubeClient, provisioned_class: str) -> None:
        self._admin = admin
        self._provisioned_class = provisioned_class
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._ended.wait(_INTERVAL):
            volumes = {_claim_name(volume): volume for volume in self._admin.list("PersistentVolume")}
            for claim in self._admin.list("PersistentVolumeClaim", "default"):
                if claim["status"].get("phase") == "Pending":
                    self._advance(claim, volumes.get(claim["metadata"]["name"]))

    def _advance(self, claim: JsonObject, volume: JsonObject | None) -> None:
        try:
            if volume is not None:
                self._complete(claim["metadata"]["name"], volume["metadata"]["name"])
            elif claim["spec"]["storageClassName"] == self._provisioned_class and _selected_node(claim):
                self._admin.create(_provisioned(claim))
        except ServerRefusal as error:
            if error.code not in (404, 409):  # the test has ended and its objects are going
                raise

    def _complete(self, claim: str, volume: str) -> None:
        change = {"metadata": {"annotations": {BIND_COMPLETED: "yes"}}, "spec": {"volumeName": volume}}
        self._admin.patch("PersistentVolumeClaim", claim, change)
        for kind, name in (("PersistentVolume", volume), ("PersistentVolumeClaim", claim)):
            self._admin.patch(kind, name, {"status": {"phase": "Bound"}}, subresource="status")


def _claim_name(volume: JsonObject) -> str:
    name: str = volume["spec"].get("claimRef", {}).get("name", "")
    return name


def _selected_node(claim: JsonObject) -> str:
    node: str = claim["metadata"].get("annotations", {}).get(SELECTED_NODE, "")
    return node


def _provisioned(claim: JsonObject) -> JsonObject:
    meta = claim["metadata"]
    on_node = {"key": HOSTNAME, "operator": "In", "values": [_selected_node(claim)]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"made-for-{meta['name']}"},
        "spec": {
            "capacity": claim["spec"]["resources"]["requests"],
            "accessModes": claim["spec"]["accessModes"],
            "storageClassName": claim["spec"]["storageClassName"],
            "claimRef": {"kind": "PersistentVolumeClaim", **{key: meta[key] for key in ("namespace", "name", "uid")}},
            "csi": {"driver": "disk.example.com", "volumeHandle": meta["name"]},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}},
        },
    }
