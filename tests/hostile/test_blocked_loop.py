# SPDX-License-Identifier: Apache-2.0
"""One computation that holds the scheduling loop for long: probes are answered, and the lease is kept."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tests.hostile.process import SteersmanProcess, schedules_pods, with_nodes
from tests.hostile.stub_api_server import LEASES, PODS, StubApiServer

from steersman.testing import make_pod
from steersman.testing.control_plane import manifest, wait_until

#: Longer than the lease, and than pages wait for the loop: ten seconds.
BLOCKED_SECONDS: Final = 16
PLUGIN: Final = f"""
import time
from pathlib import Path

from steersman.framework import FilterPlugin


class Spinning(FilterPlugin):
    name = "Spinning"
    has_spun = False

    def filter(self, pod, node):
        if pod.name == "poison" and not self.has_spun:
            self.has_spun = True
            Path(__file__).with_suffix(".spins").touch()
            end = time.monotonic() + {BLOCKED_SECONDS}
            while time.monotonic() < end:
                pass
        return None
"""
CONFIG: Final = {"leaderElection": {"leaseDuration": "6s", "renewDeadline": "4s", "retryPeriod": "1s"}}


def test_probes_and_the_lease_outlive_a_filter_that_spins(tmp_path: Path) -> None:
    plugin = tmp_path / "spinning.py"
    plugin.write_text(PLUGIN)
    with (
        StubApiServer() as server,
        SteersmanProcess(
            with_nodes(server), tmp_path, config=CONFIG, leader_elect=True, flags=[f"--plugin={plugin}"]
        ) as steersman,
    ):
        assert schedules_pods(server, "before")
        holder = server.object(LEASES, "kube-system/kube-scheduler")["spec"]["holderIdentity"]
        server.put(PODS, manifest(make_pod("poison").req(cpu="100m")))
        wait_until(plugin.with_suffix(".spins").exists, what="the plugin")
        with ThreadPoolExecutor(1) as pool:
            page = pool.submit(steersman.get, "/metrics", timeout=30)
            while not page.done():
                assert steersman.is_alive()
                assert steersman.get("/healthz", token="")[0] == 200
                time.sleep(0.1)
        code, text = page.result()
        assert (code, "the scheduling loop has not answered" in text) == (503, True)
        assert "default/poison" not in server.bindings(), "the loop was not blocked"
        assert schedules_pods(server, "after")
        assert "default/poison" in server.bindings()
        lease = server.object(LEASES, "kube-system/kube-scheduler")["spec"]
        assert (lease["holderIdentity"], lease.get("leaseTransitions", 0)) == (holder, 0)
        assert steersman.metric("steersman_scheduling_loop_delay_seconds_count") > 0
        longest = steersman.metric('steersman_scheduling_loop_delay_seconds_bucket{le="30"}')
        assert longest > steersman.metric('steersman_scheduling_loop_delay_seconds_bucket{le="10"}')
