# SPDX-License-Identifier: Apache-2.0
"""Dynamic resource allocation (`resource.k8s.io/v1`): claims and allocations.

`steersman.api.device` has the supply side, devices and their classes.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from steersman.api import nesting
from steersman.api.meta import Condition, Int64, Object, ObjectMeta, Quantity, Struct
from steersman.api.scheduling import NodeSelector

DEEPEST_PARAMETERS: Final = 100
"""Maximum nesting depth of a driver's parameters: below `nesting`, to avoid silent pruning."""
TOO_DEEP: Final = f"parameters must not nest deeper than {DEEPEST_PARAMETERS} levels"


class CELDeviceSelector(Struct, frozen=True):
    expression: str = ""


class DeviceSelector(Struct, frozen=True):
    cel: CELDeviceSelector | None = None


class DeviceToleration(Struct, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class CapacityRequirements(Struct, frozen=True):
    requests: dict[str, Quantity] = {}


class ExactDeviceRequest(Struct, frozen=True):
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceSubRequest(Struct, frozen=True):
    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(Struct, frozen=True):
    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(Struct, frozen=True):
    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class OpaqueDeviceConfiguration(Struct, frozen=True):
    driver: str = ""
    #: Opaque parameters of the driver, copied from class and claim into the allocation.
    parameters: dict[str, Any] = {}

    def __post_init__(self) -> None:
        if nesting.is_deeper_than(DEEPEST_PARAMETERS, self.parameters):
            raise ValueError(TOO_DEEP)


class DeviceClaimConfiguration(Struct, frozen=True):
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaim(Struct, frozen=True):
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class ResourceClaimSpec(Struct, frozen=True):
    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(Struct, frozen=True):
    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = None
    consumed_capacity: dict[str, Quantity] = {}


class DeviceAllocationConfiguration(Struct, frozen=True):
    source: str = ""
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceAllocationResult(Struct, frozen=True):
    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


class AllocationResult(Struct, frozen=True):
    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(Struct, frozen=True):
    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(Struct, frozen=True):
    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = None
    conditions: tuple[Condition, ...] = ()


class ResourceClaimStatus(Struct, frozen=True):
    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(Object, frozen=True):
    KIND: ClassVar[str] = "ResourceClaim"
    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    PLURAL: ClassVar[str] = "resourceclaims"

    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(Object, frozen=True):
    KIND: ClassVar[str] = "ResourceClaimTemplate"
    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    PLURAL: ClassVar[str] = "resourceclaimtemplates"

    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()
