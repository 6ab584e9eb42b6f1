# SPDX-License-Identifier: Apache-2.0
"""Two servers on one port, if both permit it."""

from __future__ import annotations

import asyncio

import pytest
from tests.kube.serving.reviews import Reviews
from tests.kube.serving.running import endpoints

from steersman.base.clock import ManualClock
from steersman.kube.serving import AccessControl, Listen, Server


async def two_servers(share: bool | None) -> None:
    access = AccessControl(Reviews(), ManualClock())
    async with (
        Server(Listen("127.0.0.1", 0, share_port=share), endpoints(), access) as first,
        Server(Listen("127.0.0.1", first.port, share_port=share), endpoints(), access) as second,
    ):
        assert second.port == first.port


def test_a_port_may_be_shared() -> None:
    asyncio.run(two_servers(share=True))


def test_otherwise_it_is_taken() -> None:
    with pytest.raises(OSError, match="address already in use"):
        asyncio.run(two_servers(share=None))
