# SPDX-License-Identifier: Apache-2.0
"""The version of the API server, and the kinds that it serves."""

from __future__ import annotations

import pytest
from tests.client.api_server import ApiServer
from tests.run.doctor.examining import examined, of

from steersman import api
from steersman.config.versions import V1_36
from steersman.framework.watching import with_custom
from steersman.kube.client.events import Event
from steersman.run.doctor import Level


@pytest.mark.parametrize("version", ["v1.37.2-gke.1", "v1.38.0"])
def test_a_server_as_old_as_the_emulated_version_or_a_minor_version_newer_goes_with_it(version: str) -> None:
    server = ApiServer()
    server.discovery.version = version
    (finding, *_) = of(examined(server), "versions", Level.OK)
    assert finding.message == f"the API server is {version}, decisions are those of kube-scheduler 1.37"


def test_a_server_older_than_the_emulated_version_is_a_warning() -> None:
    server = ApiServer()
    server.discovery.version = "v1.36.4"
    assert not of(examined(server, version=V1_36), "versions", Level.WARN)
    (finding,) = of(examined(server), "versions", Level.WARN)
    assert finding.message == "the API server is v1.36.4, Steersman is made for 1.37"


@pytest.mark.parametrize(
    ("version", "advice"),
    [("v1.30.1", "fields unknown to it"), ("v1.40.0", "what is new there"), ("other", "made for Kubernetes")],
)
def test_another_version_is_a_warning(version: str, advice: str) -> None:
    server = ApiServer()
    server.discovery.version = version
    (finding,) = of(examined(server), "versions", Level.WARN)
    assert advice in finding.advice


def test_a_kind_that_only_some_pods_need_may_be_missing() -> None:
    server = ApiServer()
    server.faults.missing |= {api.ResourceClaim}
    (finding,) = of(examined(server), "versions", Level.WARN)
    assert finding.message == "resourceclaims of resource.k8s.io/v1 are not served"


def test_a_kind_that_an_older_server_does_not_know_may_be_missing() -> None:
    kinds = with_custom([api.DeviceTaintRule])
    server = ApiServer()
    server.faults.missing |= {api.DeviceTaintRule}
    (finding,) = of(examined(server, kinds=kinds), "versions", Level.WARN)
    assert finding.message == "devicetaintrules of resource.k8s.io/v1 are not served"
    assert finding.advice == "none are assumed; pods that need them stay pending"


@pytest.mark.parametrize("kind", [api.Node, api.PodDisruptionBudget, api.StorageClass, api.ReplicaSet, Event])
def test_a_kind_that_scheduling_cannot_do_without_must_be_served(kind: type[api.Object]) -> None:
    server = ApiServer()
    server.faults.missing |= {kind}
    (finding,) = of(examined(server), "versions", Level.FAIL)
    assert finding.message.startswith(f"{kind.PLURAL} of ")


def test_a_kind_of_a_plugin_may_be_missing_and_its_definition_is_requested() -> None:
    rates = api.custom_kind("example.com/v1", "Rate", "rates")
    (finding,) = of(examined(ApiServer(), kinds=with_custom([rates])), "versions", Level.WARN)
    assert finding.message == "rates of example.com/v1 are not served"
    assert "CustomResourceDefinition" in finding.advice


def test_a_kind_that_a_plugin_reads_by_itself_may_be_missing_too() -> None:
    rates = api.custom_kind("example.com/v1", "Rate", "rates")
    (finding,) = of(examined(ApiServer(), read_kinds=(rates,)), "versions", Level.WARN)
    assert finding.message == "rates of example.com/v1 are not served"
