# SPDX-License-Identifier: Apache-2.0
"""Work in the background that fails is begun again."""

from __future__ import annotations

import asyncio
import logging

import pytest
from tests.client.following import IMPATIENT, running, until
from tests.client.serving import run

from steersman.app.open_files import raise_open_files
from steersman.app.supervision import kept_going
from steersman.observe import Metrics


def test_what_fails_is_logged_counted_and_begun_again(caplog: pytest.LogCaptureFixture) -> None:
    metrics, begun = Metrics(), []

    async def work() -> None:
        begun.append(1)
        if len(begun) < 3:
            raise ValueError("nobody expects this")
        await asyncio.Event().wait()

    async def scenario() -> None:
        async with running(kept_going("certificate", work, IMPATIENT, metrics)):
            await until(lambda: len(begun) == 3)

    with caplog.at_level(logging.ERROR, "steersman.app"):
        run(scenario())
    failures = metrics.registry.get_sample_value("steersman_background_failures_total", {"task": "certificate"})
    assert failures == 2
    assert len([message for message in caplog.messages if message.startswith("certificate has failed")]) == 2


def test_as_many_files_may_be_open_as_the_operator_allows() -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
    try:
        raise_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
