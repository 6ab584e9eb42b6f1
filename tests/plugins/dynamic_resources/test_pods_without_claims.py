"""Pods without resource claims pass through DynamicResources unnoticed, but for its words in PostFilter."""

from __future__ import annotations

from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.framework.cycle_state import CycleState
from steersman.framework.status import SKIP, Code
from steersman.plugins.dynamic_resources import DynamicResources
from steersman.plugins.dynamic_resources.plugin import ERR_NO_STATE, REASON_NO_ALLOCATOR, REASON_NO_NEW_CLAIMS
from steersman.testing import make_node, make_pod


def plugin(*objects: api.Object) -> DynamicResources:
    return DynamicResources(None, FakeHandle(objects=list(objects)))


def device_class(name: str, extended_resource: str | None = None) -> api.DeviceClass:
    spec = api.DeviceClassSpec(extended_resource_name=extended_resource)
    return api.DeviceClass(metadata=api.ObjectMeta(name=name), spec=spec)


def test_pre_filter_skips_and_the_score_is_zero() -> None:
    pod, state = make_pod("web").req(cpu="1").info(), CycleState()
    assert plugin().pre_filter(state, pod, ()) == SKIP
    assert plugin().score(state, pod, make_node("a").info()) == 0
    assert not plugin().concerns(pod)


def test_post_filter_has_nothing_to_deallocate() -> None:
    pod, state = make_pod("web").info(), CycleState()
    plugin().pre_filter(state, pod, ())
    result, status = plugin().post_filter(state, pod, None)
    assert result is None
    assert (status.code, status.reasons) == (Code.UNSCHEDULABLE, (REASON_NO_NEW_CLAIMS,))


def test_post_filter_fails_when_pre_filter_was_not_reached() -> None:
    _, status = plugin().post_filter(CycleState(), make_pod("web").info(), None)
    assert (status.code, status.reasons) == (Code.ERROR, (ERR_NO_STATE,))


def test_an_extended_resource_without_device_class_is_none_of_its_business() -> None:
    pod = make_pod("gpu").req(**{"example.com/gpu": "1"}).info()
    assert plugin().concerns(pod)
    assert plugin(device_class("other", "example.com/tpu")).pre_filter(CycleState(), pod, ()) == SKIP


def test_an_extended_resource_of_a_device_class_cannot_be_allocated_yet() -> None:
    pod = make_pod("gpu").req(**{"example.com/gpu": "1"}).info()
    status = plugin(device_class("gpus", "example.com/gpu")).pre_filter(CycleState(), pod, ())
    assert status is not None
    assert status.reasons == (REASON_NO_ALLOCATOR,)
