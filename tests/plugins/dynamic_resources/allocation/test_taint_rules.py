# SPDX-License-Identifier: Apache-2.0
"""DeviceTaintRules add taints to the devices that match every given field of their selector."""

from __future__ import annotations

import pytest

from steersman.api import DeviceTaintRule, codec
from steersman.scheduler.plugins.dynamic_resources.allocation.resource_slices import taints_by_rules
from steersman.testing import make_slice

SLICE = make_slice("s").pool("p").on_node("n").device("a").device("b").obj()


def rule(selector: dict[str, str] | None) -> DeviceTaintRule:
    spec = {"taint": {"key": "bad", "effect": "NoSchedule"}}
    spec |= {} if selector is None else {"deviceSelector": selector}
    document = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "r"},
        "spec": spec,
    }
    converted = codec.convert_object(document)
    assert isinstance(converted, DeviceTaintRule)
    return converted


@pytest.mark.parametrize(
    ("selector", "tainted"),
    [
        (None, []),
        ({}, ["a", "b"]),
        ({"pool": "p"}, ["a", "b"]),
        ({"pool": "q"}, []),
        ({"device": "b"}, ["b"]),
        ({"driver": "other.example.com", "device": "b"}, []),
    ],
)
def test_a_selector_picks_devices(selector: dict[str, str] | None, tainted: list[str]) -> None:
    assert sorted(taints_by_rules(SLICE, [rule(selector)])) == tainted


def test_a_device_gets_the_taints_of_all_its_rules() -> None:
    assert len(taints_by_rules(SLICE, [rule({}), rule({"device": "a"})])["a"]) == 2
