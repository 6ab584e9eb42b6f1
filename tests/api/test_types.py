# SPDX-License-Identifier: Apache-2.0
"""API types: Kubernetes' names, absent fields, what can be changed and what not."""

import re

import msgspec
import pytest

import steersman.api as api
from steersman.api import Container, Node, ObjectMeta, Pod, PodSpec, codec
from steersman.api.meta import wire_name


def test_everything_the_package_exports_exists() -> None:
    assert all(hasattr(api, name) for name in api.__all__)


@pytest.mark.parametrize(
    ("attribute", "name"),
    [
        ("node_name", "nodeName"),
        ("host_ip", "hostIP"),
        ("volume_id", "volumeID"),
        ("disk_uri", "diskURI"),
        ("uid", "uid"),
        ("aws_elastic_block_store", "awsElasticBlockStore"),
        ("required_during_scheduling_ignored_during_execution", "requiredDuringSchedulingIgnoredDuringExecution"),
    ],
)
def test_attributes_have_kubernetes_names_on_the_wire(attribute: str, name: str) -> None:
    assert wire_name(attribute) == name


def test_absent_fields_have_values_that_need_no_check() -> None:
    pod = Pod()
    assert pod.metadata.labels == {}
    assert pod.spec.containers == ()
    assert pod.spec.node_name == ""
    assert pod.spec.affinity is None
    assert pod.spec.priority is None


def test_objects_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Pod().spec = PodSpec()  # type: ignore[misc]


def test_a_changed_object_is_a_new_one() -> None:
    pod = Pod(spec=PodSpec(containers=(Container(name="web"),)))
    bound = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name="n1"))
    assert (pod.spec.node_name, bound.spec.node_name) == ("", "n1")
    assert bound.spec.containers is pod.spec.containers


def test_keys_have_a_namespace_only_where_objects_have_one() -> None:
    meta = ObjectMeta(name="a", namespace="team")
    assert api.key(Pod(metadata=meta)) == "team/a"
    assert api.key(Node(metadata=meta)) == "a"


def test_the_kind_of_an_object_is_that_of_its_class() -> None:
    assert api.kind_of(Pod()) == "Pod"
    assert api.KINDS["Pod"] is Pod


@pytest.mark.parametrize("cls", api.KINDS.values(), ids=lambda cls: cls.KIND)
def test_every_kind_says_where_the_api_server_keeps_it(cls: type[api.Object]) -> None:
    assert cls.PLURAL.lower() == cls.PLURAL
    assert re.search(r"v\d((alpha|beta)\d)?$", cls.API_VERSION)
    assert codec.convert_object(codec.plain(codec.encode(cls()))) == cls()


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1])
def test_integers_have_the_sizes_that_kubernetes_gives_them(number: int) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"spec": {"priority": number}}, Pod)
