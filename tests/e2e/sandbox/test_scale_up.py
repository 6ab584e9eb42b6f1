# SPDX-License-Identifier: Apache-2.0
"""A Deployment of 2,000 pods on 200 nodes while three clients watch; `make bench-sandbox` is the long form."""

from __future__ import annotations

import asyncio

from benchmarks.sandbox.scale_up import scale_up

PODS = 2000
LONGEST_ANSWER_SECONDS = 5.0
"""A frozen loop would take longer; how long it really takes is for the benchmark to tell."""


def test_watches_see_every_write_once_and_in_order_and_the_server_answers_meanwhile() -> None:
    result = asyncio.run(scale_up(PODS, nodes=200))
    assert result.differing == []
    assert result.events > 3 * PODS
    assert max(result.livez) < LONGEST_ANSWER_SECONDS
