# SPDX-License-Identifier: Apache-2.0
"""Every flag that kube-scheduler v1.36.4 names in its help is known, supported or not."""

from __future__ import annotations

from pathlib import Path

from steersman.cli.run import run
from steersman.cli.run_flags import flag_values

UPSTREAM = Path(__file__).parent / "data" / "kube_scheduler_flags.txt"


def test_no_flag_of_upstream_is_unknown() -> None:
    known = {name for parameter in run.params for name in parameter.opts}
    assert set(UPSTREAM.read_text().split()) - known == {"--help"}


def test_flagz_shows_every_flag_as_go_writes_it() -> None:
    given = ["-v=2", "--leader-elect=false", "--kube-api-qps", "20", "--leader-elect-retry-period", "2s"]
    given += ["--master", "https://me:secret@here:6443", "--authorization-always-allow-paths", "/healthz,/metrics"]
    with run.make_context("run", given) as context:
        flags = flag_values(context)
    assert (flags["v"], flags["leader-elect"], flags["kube-api-qps"]) == ("2", "false", "20.0")
    assert (flags["leader-elect-retry-period"], flags["leader-elect-lease-duration"]) == ("2s", "")
    assert flags["authorization-webhook-cache-authorized-ttl"] == "10s"
    assert flags["authorization-always-allow-paths"] == "/healthz,/metrics"
    assert flags["master"] == "https://me:***@here:6443"
    assert "vmodule" not in flags
