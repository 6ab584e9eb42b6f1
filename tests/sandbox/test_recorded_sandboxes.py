# SPDX-License-Identifier: Apache-2.0
"""A sandbox is recorded: what its scheduler decided is decided again, though it binds in the middle of an attempt."""

from __future__ import annotations

from pathlib import Path

from tests.client.following import until
from tests.client.serving import run

from steersman import api
from steersman.record import history, replay
from steersman.sandbox import Sandbox, SandboxOptions, running_sandbox
from steersman.testing import make_pod


def test_a_recorded_sandbox_is_replayed_to_the_last_score(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_sandbox(SandboxOptions(nodes=3, record=str(tmp_path))) as sandbox:
            for index in range(8):
                sandbox.store.create(make_pod(f"small-{index}").req(cpu="1").obj())
            sandbox.store.create(make_pod("large").req(cpu="500").obj())
            await until(lambda: _is_decided(sandbox))

    run(scenario())
    found = replay(tmp_path)
    assert found.is_same
    assert found.same == found.recorded >= 9
    assert not found.notes
    assert [entry.event for entry in history(tmp_path, "small-0").entries][-1] == "bound"


def _is_decided(sandbox: Sandbox) -> bool:
    pods = sandbox.store.objects(api.Pod).values()
    return len(pods) == 9 and all(pod.spec.node_name or pod.status.conditions for pod in pods)
