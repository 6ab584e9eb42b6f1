# SPDX-License-Identifier: Apache-2.0
"""The report as a whole."""

from __future__ import annotations

from tests.client.api_server import ApiServer
from tests.client.serving import run
from tests.run.doctor.examining import examined, of

from steersman import config
from steersman.base.clock import RealClock
from steersman.kube.client import Connection, http_transport
from steersman.run.doctor import DoctorTarget, Examination, Level, examine


def test_every_line_has_a_level_and_failures_say_what_to_do() -> None:
    server = ApiServer()
    server.discovery.refused = {"delete pods"}
    text = examined(server).text()
    assert "fail  access" in text
    assert "→ grant it: deploy/manifests/rbac.yaml" in text
    assert text.splitlines()[-1].endswith("1 fail")


def test_a_configuration_that_cannot_be_used_fails_and_the_rest_is_still_examined() -> None:
    report = examined(ApiServer(), fault="sched.yaml: profiles[0]: is wrong")
    assert of(report, "config", Level.FAIL)[0].message == "sched.yaml: profiles[0]: is wrong"
    assert of(report, "access", Level.OK)


def test_a_server_that_cannot_be_reached_ends_the_examination() -> None:
    async def scenario() -> Examination:
        async with ApiServer().serving() as address:
            pass
        async with http_transport(Connection(address)) as transport:
            return await examine(DoctorTarget(transport, config.default_configuration(), RealClock()), address)

    report = run(scenario())
    assert [finding.check for finding in report.findings] == ["config", "connection"]
    assert report.has_failed


def test_credentials_that_are_refused_are_one_failure_with_the_remedy() -> None:
    server = ApiServer()
    server.faults.refuse(401, times=999)
    report = examined(server)
    (refused,) = (finding for finding in report.findings if finding.level is Level.FAIL)
    assert refused is report.findings[-1]
    assert "does not accept the credentials" in refused.message
    assert refused.advice == "renew the token or certificate that the kubeconfig names"


def test_programs_read_the_same() -> None:
    document = examined(ApiServer()).to_dict()
    assert {finding["level"] for finding in document["findings"]} == {"ok"}
