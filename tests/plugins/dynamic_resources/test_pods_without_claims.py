# SPDX-License-Identifier: Apache-2.0
"""Pods without resource claims pass through DynamicResources unnoticed, but for its words in PostFilter."""

from __future__ import annotations

from tests.plugins.dynamic_resources.handle import OnePlugin

from steersman.framework.cycle_state import CycleState
from steersman.framework.status import SKIP, Code
from steersman.scheduler.plugins.dynamic_resources.plugin import REASON_NO_NEW_CLAIMS
from steersman.scheduler.plugins.dynamic_resources.pre_filter import ERR_NO_STATE
from steersman.testing import make_device_class, make_node, make_pod


class NoStatuses:
    groups: dict[object, object] = {}


def test_pre_filter_skips_and_the_score_is_zero() -> None:
    pod, one = make_pod("web").req(cpu="1").info(), OnePlugin()
    assert one.pre_filter(pod) == SKIP
    assert one.plugin.score(one.state, pod, make_node("a").info()) == 0
    assert not one.plugin.concerns(pod)
    assert one.plugin.pre_bind_pre_flight(one.state, pod, "a") == SKIP


def test_post_filter_has_nothing_to_deallocate() -> None:
    pod, one = make_pod("web").info(), OnePlugin()
    one.pre_filter(pod)
    result, status = one.plugin.post_filter(one.state, pod, NoStatuses())  # type: ignore[arg-type]
    assert result is None
    assert (status.code, status.reasons) == (Code.UNSCHEDULABLE, (REASON_NO_NEW_CLAIMS,))


def test_post_filter_fails_when_pre_filter_was_not_reached() -> None:
    _, status = OnePlugin().plugin.post_filter(CycleState(), make_pod("web").info(), NoStatuses())  # type: ignore[arg-type]
    assert (status.code, status.reasons) == (Code.ERROR, (ERR_NO_STATE,))


def test_an_extended_resource_without_device_class_is_none_of_its_business() -> None:
    pod = make_pod("gpu").req(**{"example.com/gpu": "1"}).info()
    one = OnePlugin(make_device_class("other").backs("example.com/tpu"))
    assert one.plugin.concerns(pod)
    assert one.pre_filter(pod) == SKIP
