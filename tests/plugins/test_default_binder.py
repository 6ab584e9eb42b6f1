# SPDX-License-Identifier: Apache-2.0
"""The binding goes to the API server through the handle's binder."""

from __future__ import annotations

import asyncio

from tests.plugins.handles import FakeHandle, RecordingBinder

from steersman.framework.cycle_state import CycleState
from steersman.framework.status import Status, error
from steersman.scheduler.plugins.default_binder import DefaultBinder
from steersman.testing import make_pod


def bind(binder: RecordingBinder) -> Status | None:
    plugin = DefaultBinder(None, FakeHandle(binder=binder))
    return asyncio.run(plugin.bind(CycleState(), make_pod("foo").namespace("ns").info(), "machine1"))


def test_the_pod_is_bound_to_the_chosen_node() -> None:
    binder = RecordingBinder()

    assert bind(binder) is None
    assert binder.bindings == [("ns/foo", "machine1")]


def test_a_refusal_of_the_api_server_is_passed_on() -> None:
    assert bind(RecordingBinder(error("binding error"))) == error("binding error")
