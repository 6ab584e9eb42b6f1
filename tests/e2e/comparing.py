# SPDX-License-Identifier: Apache-2.0
"""The same objects for kube-scheduler and for Steersman, in turn, and a picture of what each made of them.

A scenario must leave no choice to chance: one node fits, or one scores best, or none fits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest
from tests.e2e.cleaning import empty
from tests.e2e.pictures import Picture, picture

from steersman.base import KUBE_SCHEDULER_RELEASES
from steersman.testing.control_plane import ControlPlane, KubeClient, KubeScheduler, Steersman, wait_until

EACH_VERSION: Final = pytest.mark.parametrize("version", KUBE_SCHEDULER_RELEASES, scope="module")
"""Mark of a module whose tests run on a control plane of every version that can be emulated."""
QUIET_SECONDS: Final = 1.2
"""A picture that did not change for so long is final: longer than the first backoff of a pod."""
SETTLE_SECONDS: Final = 40.0

Act = Callable[[KubeClient], None]


@dataclass(frozen=True)
class Both:
    upstream: Picture
    steersman: Picture


def run_both(
    plane: ControlPlane,
    prepare: Act,
    *,
    act: Act = lambda _: None,
    config: dict[str, Any] | None = None,
    flags: Sequence[str] = (),
) -> Both:
    """`prepare` before the scheduler starts, `act` while it runs; the picture is taken when nothing moves any more."""
    return Both(*(_run(plane, scheduler, prepare, act, config, flags) for scheduler in (KubeScheduler, Steersman)))


def _run(
    plane: ControlPlane,
    scheduler: type[KubeScheduler] | type[Steersman],
    prepare: Act,
    act: Act,
    config: dict[str, Any] | None,
    flags: Sequence[str],
) -> Picture:
    empty(plane.admin)
    try:
        prepare(plane.admin)
        with scheduler(plane, config=config, flags=flags):
            act(plane.admin)
            return settled(plane.admin)
    finally:
        empty(plane.admin)


def settled(admin: KubeClient) -> Picture:
    """The picture once every pod is decided and nothing changes any more."""
    last, since = picture(admin), time.monotonic()

    def quiet() -> Picture | None:
        nonlocal last, since
        now = picture(admin)
        if now != last or not now.decided():
            last, since = now, time.monotonic()
        return now if time.monotonic() - since > QUIET_SECONDS else None

    found = wait_until(quiet, SETTLE_SECONDS, what="a settled cluster", interval=0.1)
    assert found is not None
    return found


def assert_same(both: Both, pod: str) -> None:
    """Conditions, node and events of this pod are those that kube-scheduler wrote."""
    assert both.steersman.pods[pod] == both.upstream.pods[pod]
    assert both.steersman.events_of(pod) == both.upstream.events_of(pod)
