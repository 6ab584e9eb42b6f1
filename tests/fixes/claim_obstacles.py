# SPDX-License-Identifier: Apache-2.0
"""Reasons to be pending that are about claims: for volumes, and for devices."""

from __future__ import annotations

import random
from typing import Any, Final

from tests.fixes.documents import ZONE, Document, Documents, Obstacle, object_metadata

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
DEVICES: Final = "resource.k8s.io/v1"

# -- storage ----------------------------------------------------------------------------------------------------------


def _storage_class(name: str, provisioner: str, mode: str = "WaitForFirstConsumer", zone: str = "") -> Document:
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": [zone]}]}] if zone else []
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        **({"allowedTopologies": allowed} if allowed else {}),
    }


def _claim_of(name: str, storage_class: str, size: str = "5Gi", **spec: Any) -> Document:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    content = {"storageClassName": storage_class, **asked}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": object_metadata(name), "spec": content}


def _volume_of(
    name: str, storage_class: str, size: str = "5Gi", labels: Document | None = None, **spec: Any
) -> Document:
    content = {
        "storageClassName": storage_class,
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/data"},
        **spec,
    }
    metadata = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": content}


def _bound_to(claim: str) -> Document:
    return {"namespace": "default", "name": claim}


def _with_claim(spec: Document, *names: str) -> None:
    spec["volumes"] = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]


def _claim(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    _with_claim(spec, "data")


def _volume(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    _with_claim(spec, "data")
    extra += _storage_class("by-hand", NO_PROVISIONER, "Immediate"), _claim_of("data", "by-hand")


def _no_volume(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    _with_claim(spec, "data")
    extra += _storage_class("local", NO_PROVISIONER), _claim_of("data", "local")


def _small_volumes(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    _no_volume(spec, nodes, others, extra, rng)
    sizes = [f"{rng.randint(1, 4999)}{rng.choice(['Mi', 'M'])}" for _ in range(rng.randint(1, 3))]
    extra += (_volume_of(f"small-{index}", "local", size) for index, size in enumerate(sizes))


def _little_capacity(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    _with_claim(spec, "data")
    driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "disk.example.com"}}
    capacity = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": object_metadata("everywhere"),
        "nodeTopology": {},
        "storageClassName": "disk",
        "capacity": f"{rng.randint(100, 4000)}Mi",
    }
    extra += (
        {**driver, "spec": {"storageCapacity": True}},
        _storage_class("disk", "disk.example.com"),
        capacity,
        _claim_of("data", "disk"),
    )


def _zone_of_class(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    _with_claim(spec, "data")
    extra += (
        _storage_class("elsewhere", "disk.example.com", zone="c"),
        _storage_class("here", "disk.example.com"),
        _claim_of("data", "elsewhere"),
    )


def _zone_of_volume(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    """The volume is in a zone without nodes: by its node affinity, or by a label as in old clusters."""
    _with_claim(spec, "data")
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["c"]}]}
    by_affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}
    is_labelled = rng.random() < 0.5
    volume = _volume_of("there", "disk", labels={ZONE: "c"} if is_labelled else None, claimRef=_bound_to("data"))
    volume["spec"] |= {"hostPath": {"path": "/data"}, **({} if is_labelled else by_affinity)}
    claim = _claim_of("data", "disk", volumeName="there")
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    extra += _storage_class("disk", "disk.example.com"), volume, claim


def _lost_volume(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    _with_claim(spec, "data")
    claim = _claim_of("data", "disk", volumeName="lost")
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    extra += _storage_class("disk", NO_PROVISIONER), claim


def _claim_in_use(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    """Another pod has the claim, which is for one pod alone."""
    _with_claim(spec, "data")
    modes = {"accessModes": ["ReadWriteOncePod"]}
    claim = {**_claim_of("data", "disk", volumeName="mine")}
    claim["spec"] |= modes
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    volume = _volume_of("mine", "disk", claimRef=_bound_to("data"), hostPath={"path": "/data"})
    volume["spec"] |= modes
    extra += _storage_class("disk", "disk.example.com"), volume, claim
    _with_claim(others[0]["spec"], "data")
    others[0]["spec"]["priority"] = 0


def _volume_limit(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    _with_claim(spec, "data")
    extra.append(_storage_class("disk", "disk.example.com"))
    for name, pod in (("data", spec), *((f"data-{index}", other["spec"]) for index, other in enumerate(others))):
        _with_claim(pod, name)
        csi = {"driver": "disk.example.com", "volumeHandle": name}
        claim = _claim_of(name, "disk", volumeName=name)
        claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        extra += claim, _volume_of(name, "disk", claimRef=_bound_to(name), csi=csi)
    for node in nodes:
        drivers = [{"name": "disk.example.com", "nodeID": "n", "allocatable": {"count": 1}}]
        metadata = {"name": node["metadata"]["name"]}
        kind = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode"}
        extra.append({**kind, "metadata": metadata, "spec": {"drivers": drivers}})


# -- devices ----------------------------------------------------------------------------------------------------------


def _device_class(name: str, expression: str) -> Document:
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    return {"apiVersion": DEVICES, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def _published(nodes: Documents, extra: Documents, count: int) -> None:
    """Every node has so many devices, and there are two classes of them."""
    for node in nodes:
        name = node["metadata"]["name"]
        devices = [
            {"name": f"d{index}", "attributes": {"model": {"string": "a"}, "slot": {"int": index}}}
            for index in range(count)
        ]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "gpu.example.com", "nodeName": name, "pool": pool, "devices": devices}
        metadata = {"name": f"{name}-devices"}
        extra.append({"apiVersion": DEVICES, "kind": "ResourceSlice", "metadata": metadata, "spec": spec})
    extra += (
        _device_class("any", 'device.driver == "gpu.example.com"'),
        _device_class("other", 'device.driver == "other.example.com"'),
    )


def _with_device_claim(spec: Document, extra: Documents, rng: random.Random, **content: Any) -> None:
    """The pod names the claim, or a template of it."""
    content.setdefault("requests", [{"name": "gpu", "exactly": {"deviceClassName": "any"}}])
    devices = {"devices": content}
    if rng.random() < 0.5:
        template = {"metadata": object_metadata("gpus"), "spec": {"spec": devices}}
        extra.append({"apiVersion": DEVICES, "kind": "ResourceClaimTemplate", **template})
        spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]
    else:
        extra.append(
            {"apiVersion": DEVICES, "kind": "ResourceClaim", "metadata": object_metadata("gpus"), "spec": devices}
        )
        spec["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "gpus"}]


def _device_count(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    count = rng.randint(1, 4)
    _published(nodes, extra, count)
    exactly = {"deviceClassName": "any", "count": count + rng.randint(1, 4)}
    _with_device_claim(spec, extra, rng, requests=[{"name": "gpu", "exactly": exactly}])


def _device_selector(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    _published(nodes, extra, 2)
    expressions = ['device.attributes["gpu.example.com"].model == "b"', 'device.attributes["gpu.example.com"].slot < 2']
    if rng.random() < 0.5:
        expressions.append('device.attributes["gpu.example.com"].slot > 4')
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    exactly = {"deviceClassName": "any", "selectors": selectors}
    _with_device_claim(spec, extra, rng, requests=[{"name": "gpu", "exactly": exactly}])


def _wrong_device_class(
    spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random
) -> None:
    _published(nodes, extra, 2)
    exactly = {"deviceClassName": rng.choice(["other", "missing"])}
    _with_device_claim(spec, extra, rng, requests=[{"name": "gpu", "exactly": exactly}])


def _device_constraint(
    spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random
) -> None:
    _published(nodes, extra, 2)
    exactly = {"deviceClassName": "any", "count": 2}
    constraints = [{"matchAttribute": "gpu.example.com/slot"}]
    _with_device_claim(spec, extra, rng, requests=[{"name": "gpu", "exactly": exactly}], constraints=constraints)


VOLUME_OBSTACLES: Final[dict[str, Obstacle]] = {
    "capacity of a driver": _little_capacity,
    "claim": _claim,
    "claim in use": _claim_in_use,
    "lost volume": _lost_volume,
    "no volume": _no_volume,
    "small volumes": _small_volumes,
    "volume": _volume,
    "volume limit": _volume_limit,
    "zone of a class": _zone_of_class,
    "zone of a volume": _zone_of_volume,
}

DEVICE_OBSTACLES: Final[dict[str, Obstacle]] = {
    "device class": _wrong_device_class,
    "device constraint": _device_constraint,
    "device count": _device_count,
    "device selector": _device_selector,
}
