# SPDX-License-Identifier: Apache-2.0
"""What classes and claims say for drivers is handed on with the allocation, and so are tolerations."""

from __future__ import annotations

import msgspec
import pytest
from tests.plugins.dynamic_resources.allocation import supply
from tests.plugins.dynamic_resources.allocation.supply import allocations

from steersman import api
from steersman.scheduler.plugins.dynamic_resources.allocation import Features
from steersman.testing import make_device_class, make_resource_claim, make_slice

SLICES = [make_slice("n").on_node("n").device("a").device("b").device("c")]


def configured(claim: api.ResourceClaim, *configs: tuple[str, tuple[str, ...]]) -> api.ResourceClaim:
    made = tuple(
        api.DeviceClaimConfiguration(requests=requests, opaque=api.OpaqueDeviceConfiguration(driver=driver))
        for driver, requests in configs
    )
    devices = msgspec.structs.replace(claim.spec.devices, config=made)
    return msgspec.structs.replace(claim, spec=api.ResourceClaimSpec(devices=devices))


class Given:
    """A builder of what is there already."""

    def __init__(self, claim: api.ResourceClaim) -> None:
        self._claim = claim

    def obj(self) -> api.ResourceClaim:
        return self._claim


def sources(allocation: api.AllocationResult) -> list[tuple[str, tuple[str, ...], str]]:
    return [(c.source, c.requests, c.opaque.driver if c.opaque else "") for c in allocation.devices.config]


def test_the_configuration_of_a_class_is_given_once_for_all_its_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    classes = (make_device_class("any").configures("x"), make_device_class("other").configures("y"))
    monkeypatch.setattr(supply, "CLASSES", classes)
    claim = make_resource_claim("c").asks("r", "any").asks("s", "other").asks("t", "any")
    (allocation,) = allocations([claim], SLICES)
    assert sources(allocation) == [("FromClass", ("r", "t"), "x"), ("FromClass", ("s",), "y")]


def test_the_configuration_of_a_claim_is_given_for_what_was_chosen() -> None:
    claim = make_resource_claim("c").asks("r", "any").asks_for_first("s", much=("any", 9), little=("any", 1)).obj()
    meant = (("all", ()), ("one", ("r",)), ("sub", ("s/little",)), ("not", ("s/much",)))
    (allocation,) = allocations([Given(configured(claim, *meant))], SLICES)  # type: ignore[list-item]
    assert [driver for _, _, driver in sources(allocation)] == ["all", "one", "sub"]
    assert {source for source, _, _ in sources(allocation)} == {"FromClaim"}


def test_since_v1_37_a_configuration_for_all_requests_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    classes = (make_device_class("any").configures("x"), make_device_class("other").configures("y"))
    monkeypatch.setattr(supply, "CLASSES", classes)
    features = Features(config_of_all_requests=True)
    asked = make_resource_claim("c").asks("r", "any").asks_for_first("s", much=("any", 9), little=("any", 1))
    meant = (("both", ("r", "s/little")), ("parents", ("s", "r")), ("one", ("r",)), ("other", ("s/much",)))
    (allocation,) = allocations([Given(configured(asked.obj(), *meant))], SLICES, features=features)  # type: ignore[list-item]
    assert sources(allocation) == [
        ("FromClass", (), "x"),
        ("FromClaim", (), "both"),
        ("FromClaim", (), "parents"),
        ("FromClaim", ("r",), "one"),
    ]


def test_tolerations_are_written_down() -> None:
    toleration = api.DeviceToleration(operator="Exists")
    (allocation,) = allocations([make_resource_claim("c").asks("r", "any", tolerations=(toleration,))], SLICES)
    assert allocation.devices.results[0].tolerations == (toleration,)
