# SPDX-License-Identifier: Apache-2.0
"""Node statuses reported by simulated kubelets, and node annotations that control kubelets.

`crash-at`, `recover-at` and `reboot-at` are delays of events after the annotation was written.
`devices` and `unhealthy-devices` (`example.com/gpu=4`) replace device plugins, `csi-drivers`
(`ebs.csi.aws.com=25`) drivers and their volume limits. docs/kubelets.md has the user documentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from steersman.api import (
    Condition,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    Node,
    NodeAddress,
    ObjectMeta,
    OwnerReference,
    ResourceList,
    VolumeNodeResources,
)
from steersman.base import InputError
from steersman.cluster.kubelets.behaviour import PREFIX, similar_annotation
from steersman.cluster.kubelets.durations import parse_duration
from steersman.cluster.store.pods import with_condition

CRASH_AT: Final = "steersman.dev/crash-at"
RECOVER_AT: Final = "steersman.dev/recover-at"
REBOOT_AT: Final = "steersman.dev/reboot-at"
DEVICES: Final = "steersman.dev/devices"
UNHEALTHY_DEVICES: Final = "steersman.dev/unhealthy-devices"
CSI_DRIVERS: Final = "steersman.dev/csi-drivers"
PRICE_PER_HOUR: Final = "steersman.dev/price-per-hour"
"""Used by `simulation.node_costs`; kubelets only accept the annotation."""
NODE_EVENTS: Final = (CRASH_AT, RECOVER_AT, REBOOT_AT)
NODE_ANNOTATIONS: Final = (*NODE_EVENTS, DEVICES, UNHEALTHY_DEVICES, CSI_DRIVERS, PRICE_PER_HOUR)
NOT_AMOUNTS: Final = "is not a list of names and numbers"
HOSTNAME: Final = "Hostname"
INTERNAL_IP: Final = "InternalIP"

READY_CONDITION: Final = Condition(
    type="Ready", status="True", reason="KubeletReady", message="kubelet is posting ready status"
)
HEALTHY_CONDITIONS: Final = (
    Condition(
        type="MemoryPressure",
        status="False",
        reason="KubeletHasSufficientMemory",
        message="kubelet has sufficient memory available",
    ),
    Condition(
        type="DiskPressure", status="False", reason="KubeletHasNoDiskPressure", message="kubelet has no disk pressure"
    ),
    Condition(
        type="PIDPressure",
        status="False",
        reason="KubeletHasSufficientPID",
        message="kubelet has sufficient PID available",
    ),
    READY_CONDITION,
)

_replace = msgspec.structs.replace


def has_annotations(node: Node) -> bool:
    """Return whether the node has annotations for its kubelet."""
    return any(name.startswith(PREFIX) for name in node.metadata.annotations)


def check_node(node: Node) -> None:
    """Raise `InputError` for an invalid annotation."""
    for name, text in node.metadata.annotations.items():
        if name.startswith(PREFIX) and name not in NODE_ANNOTATIONS:
            hint = similar_annotation(name, NODE_ANNOTATIONS)
            raise _bad(node, name, text, "is not a known annotation of nodes", hint)
    list(node_events(node))
    with_devices(node)
    csi_node(node)


def node_events(node: Node) -> Iterator[tuple[str, float]]:
    """Yield annotations with node events, and their delays in seconds."""
    for name in NODE_EVENTS:
        text = node.metadata.annotations.get(name)
        if text is not None:
            try:
                yield name, parse_duration(text).seconds(f"{node.metadata.name}/{name}")
            except InputError as error:
                raise error.located(object=f"Node {node.metadata.name}", field=_field(name)) from None


def with_devices(node: Node) -> Node:
    """Return the node with annotated devices in capacity and allocatable, or the same object."""
    devices, broken = _amounts(node, DEVICES), _amounts(node, UNHEALTHY_DEVICES)
    for resource, count in broken.items():
        offered = devices.get(resource)
        if offered is None or count > offered:
            text = node.metadata.annotations[UNHEALTHY_DEVICES]
            raise _bad(node, UNHEALTHY_DEVICES, text, f"breaks more {resource} than there are", f"see {DEVICES}")
    if not devices:
        return node
    capacity: ResourceList = {**node.status.capacity, **{name: str(count) for name, count in devices.items()}}
    healthy = {name: str(count - broken.get(name, 0)) for name, count in devices.items()}
    allocatable: ResourceList = {**node.status.allocatable, **healthy}
    status = _replace(node.status, capacity=capacity, allocatable=allocatable)
    return node if status == node.status else _replace(node, status=status)


def csi_node(node: Node) -> CSINode | None:
    """Return the CSINode for the annotated drivers; None without the annotation."""
    drivers = _amounts(node, CSI_DRIVERS)
    if not drivers:
        return None
    name = node.metadata.name
    owner = OwnerReference(api_version="v1", kind="Node", name=name, uid=node.metadata.uid)
    return CSINode(
        metadata=ObjectMeta(name=name, owner_references=(owner,)),
        spec=CSINodeSpec(
            drivers=tuple(
                CSINodeDriver(name=driver, node_id=name, allocatable=VolumeNodeResources(count=count))
                for driver, count in drivers.items()
            )
        ),
    )


def registered(node: Node, number: int, now: str) -> Node:
    """Return the node as registered by its kubelet, with default conditions and addresses; `number`
    determines the IP address."""
    conditions = node.status.conditions
    known = {condition.type for condition in conditions}
    for condition in HEALTHY_CONDITIONS:
        if condition.type not in known:
            conditions = with_condition(conditions, condition, now)
    addresses = node.status.addresses
    if not any(address.type == INTERNAL_IP for address in addresses):
        internal = NodeAddress(type=INTERNAL_IP, address=node_address(number))
        addresses = (internal, *addresses)
    if not any(address.type == HOSTNAME for address in addresses):
        addresses = (*addresses, NodeAddress(type=HOSTNAME, address=node.metadata.name))
    status = _replace(node.status, conditions=conditions, addresses=addresses)
    return node if status == node.status else _replace(node, status=status)


def ready_again(node: Node, now: str) -> Node:
    """Return the node after a restart of its kubelet: ready, regardless of changes by clients."""
    conditions = node.status.conditions
    if not any(condition.type == READY_CONDITION.type for condition in conditions):
        return node
    for condition in HEALTHY_CONDITIONS:
        conditions = with_condition(conditions, condition, now)
    status = _replace(node.status, conditions=conditions)
    return node if status == node.status else _replace(node, status=status)


def host_ip(node: Node) -> str:
    return next((address.address for address in node.status.addresses if address.type == INTERNAL_IP), "")


def node_address(number: int) -> str:
    """Return the address of a node, in 172.16.0.0/12."""
    return f"172.{16 + (number >> 16) % 16}.{(number >> 8) & 255}.{number & 255}"


def pod_address(number: int) -> str:
    """Return the address of a pod, in 10.0.0.0/8."""
    return f"10.{(number >> 16) & 255}.{(number >> 8) & 255}.{number & 255}"


def pod_number(address: str) -> int:
    """Return the number encoded by `pod_address`; 0 for other addresses."""
    parts = address.split(".")
    if len(parts) != 4 or parts[0] != "10" or not all(part.isdecimal() for part in parts):
        return 0
    return int(parts[1]) << 16 | int(parts[2]) << 8 | int(parts[3])


def _amounts(node: Node, name: str) -> dict[str, int]:
    text = node.metadata.annotations.get(name, "")
    amounts: dict[str, int] = {}
    for part in text.split(",") if text else ():
        key, equals, number = (piece.strip() for piece in part.partition("="))
        if not key or not equals or not (number.isdecimal() and len(number) < 10) or key in amounts:
            raise _bad(node, name, text, NOT_AMOUNTS, 'use a text such as "example.com/gpu=4,example.com/fpga=2"')
        amounts[key] = int(number)
    return amounts


def _field(name: str) -> str:
    return f"metadata.annotations[{name}]"


def _bad(node: Node, name: str, text: str, message: str, hint: str) -> InputError:
    return InputError(message, object=f"Node {node.metadata.name}", field=_field(name), value=text, hint=hint)
