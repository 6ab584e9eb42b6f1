# SPDX-License-Identifier: Apache-2.0
"""What a real API server is given, made with the builders."""

from __future__ import annotations

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import manifest


def test_the_identity_is_left_to_the_server() -> None:
    made = manifest(make_pod("web").uid("u1").resource_version(3).created("2030-01-01T00:00:00Z"))

    assert made["metadata"] == {"name": "web", "namespace": "default"}
    assert (made["apiVersion"], made["kind"]) == ("v1", "Pod")


def test_a_pod_has_a_container_with_an_image() -> None:
    assert manifest(make_pod("web"))["spec"]["containers"][0]["image"]
    assert manifest(make_pod("web").image("example.com/app:1"))["spec"]["containers"][0]["image"] == "example.com/app:1"


def test_extended_resources_have_the_limits_that_the_server_wants() -> None:
    [container] = manifest(make_pod("web").req(cpu="1", **{"example.com/gpu": 2}))["spec"]["containers"]

    assert container["resources"]["limits"] == {"example.com/gpu": 2}


def test_a_node_keeps_its_status() -> None:
    assert manifest(make_node("n1").capacity(cpu="4"))["status"]["allocatable"]["cpu"] == "4"
