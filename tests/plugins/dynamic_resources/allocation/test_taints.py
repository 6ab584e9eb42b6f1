# SPDX-License-Identifier: Apache-2.0
"""Tainted devices go to requests that tolerate it."""

from __future__ import annotations

import pytest
from tests.plugins.dynamic_resources.allocation.supply import devices

from steersman import api
from steersman.scheduler.plugins.dynamic_resources.allocation import Features
from steersman.scheduler.plugins.dynamic_resources.allocation.suitability import tolerates
from steersman.testing import make_resource_claim, make_slice

BROKEN = api.DeviceTaint(key="health", value="broken", effect="NoSchedule")
SLICES = [make_slice("n").on_node("n").devices(api.Device(name="bad", taints=(BROKEN,)), api.Device(name="good"))]


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_taint_keeps_claims_away(effect: str) -> None:
    taint = api.DeviceTaint(key="health", effect=effect)
    slices = [make_slice("n").on_node("n").devices(api.Device(name="bad", taints=(taint,)), api.Device(name="good"))]
    assert devices([make_resource_claim("c").asks("r", "any")], slices) == ["n/good"]


def test_other_effects_do_not_matter() -> None:
    slices = [
        make_slice("n").on_node("n").devices(api.Device(name="d", taints=(api.DeviceTaint(key="k", effect="None"),)))
    ]
    assert devices([make_resource_claim("c").asks("r", "any")], slices) == ["n/d"]


def test_a_request_may_tolerate_it() -> None:
    toleration = api.DeviceToleration(key="health", operator="Exists")
    assert devices([make_resource_claim("c").asks("r", "any", tolerations=(toleration,))], SLICES) == ["n/bad"]


def test_without_the_gate_taints_do_not_matter() -> None:
    features = Features(device_taints=False)
    assert devices([make_resource_claim("c").asks("r", "any")], SLICES, features=features) == ["n/bad"]


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (api.DeviceToleration(operator="Exists"), True),
        (api.DeviceToleration(key="health", value="broken"), True),
        (api.DeviceToleration(key="health", operator="Equal", value="fine"), False),
        (api.DeviceToleration(key="other", operator="Exists"), False),
        (api.DeviceToleration(operator="Exists", effect="NoExecute"), False),
        (api.DeviceToleration(key="health", operator="Exists", effect="NoSchedule"), True),
        (api.DeviceToleration(key="health", operator="Later"), False),
    ],
)
def test_key_value_and_effect_are_compared(toleration: api.DeviceToleration, tolerated: bool) -> None:
    assert tolerates(toleration, BROKEN) is tolerated
