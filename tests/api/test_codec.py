# SPDX-License-Identifier: Apache-2.0
"""JSON ↔ typed objects."""

from typing import Any

import msgspec
import pytest

from steersman.api import Container, Node, ObjectMeta, Pod, PodSpec, ResourceRequirements, codec
from steersman.base.errors import InputError

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-0", "namespace": "team", "labels": {"app": "web"}},
    "spec": {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": 0.5, "memory": "1Gi", "gpu": 2}}}],
        "priority": 0,
    },
    "status": {"hostIP": "10.0.0.1"},
}


def complaint(data: Any, cls: type = Pod) -> str:
    with pytest.raises(InputError) as caught:
        codec.decode(msgspec.json.encode(data), cls)
    with pytest.raises(InputError) as caught_from_dict:
        codec.convert(data, cls)
    assert str(caught.value) == str(caught_from_dict.value)
    return str(caught.value)


def test_an_object_survives_the_round_trip() -> None:
    pod = codec.convert_object(POD)
    assert isinstance(pod, Pod)
    assert codec.to_dict(pod) == POD
    assert codec.decode(codec.encode(pod), Pod) == pod
    assert msgspec.json.decode(codec.encode(pod)) == POD


def test_quantities_stay_as_they_were_written() -> None:
    pod = codec.convert(POD, Pod)
    assert pod.spec.containers[0].resources.requests == {"cpu": 0.5, "memory": "1Gi", "gpu": 2}


def test_unknown_fields_are_ignored() -> None:
    assert codec.decode(b'{"metadata":{"name":"n","managedFields":[{}]},"x":1}', Node).metadata.name == "n"


def test_fields_at_their_defaults_are_not_written() -> None:
    assert codec.encode(Node()) == b'{"apiVersion":"v1","kind":"Node"}'
    node = Node(metadata=ObjectMeta(name="n"))
    assert codec.encode(node) == b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}'


def test_an_explicit_zero_is_kept_where_absence_means_something_else() -> None:
    assert b'"priority":0' in codec.encode(Pod(spec=PodSpec(priority=0)))
    assert b"priority" not in codec.encode(Pod())


def test_null_is_read_as_absence_everywhere() -> None:
    data: dict[str, Any] = {
        "metadata": {"name": None, "labels": None, "creationTimestamp": None, "ownerReferences": None},
        "spec": {
            "containers": [{"name": "c", "ports": None, "resources": None}],
            "nodeSelector": None,
            "affinity": None,
        },
        "status": None,
    }
    expected = Pod(spec=PodSpec(containers=(Container(name="c"),)))
    assert codec.decode(msgspec.json.encode(data), Pod) == expected
    assert codec.convert(data, Pod) == expected


def test_a_null_label_is_an_empty_one() -> None:
    assert codec.convert({"metadata": {"labels": {"a": None}}}, Pod).metadata.labels == {"a": ""}


def test_a_null_quantity_is_an_absent_one() -> None:
    data = {"spec": {"containers": [{"resources": {"requests": {"cpu": None, "memory": "1"}}}]}}
    assert codec.convert(data, Pod).spec.containers[0].resources == ResourceRequirements(requests={"memory": "1"})


def test_the_input_is_left_alone() -> None:
    data: dict[str, Any] = {"metadata": {"labels": None}}
    codec.convert(data, Pod)
    assert data == {"metadata": {"labels": None}}


def test_a_wrong_type_is_named_with_field_and_value() -> None:
    data = {"spec": {"containers": [{"name": "a"}, {"image": 5}]}}
    assert complaint(data) == "spec.containers[1].image: must be a string (got 5); write it in quotes"


def test_a_wrong_entry_of_a_map_is_named() -> None:
    data = {"metadata": {"labels": {"fine": "x", "port": 80}}}
    assert complaint(data) == "metadata.labels[port]: must be a string (got 80); write it in quotes"


def test_a_quantity_must_be_a_number_or_a_string() -> None:
    data = {"spec": {"containers": [{"resources": {"requests": {"cpu": ["1"]}}}]}}
    assert complaint(data) == ('spec.containers[0].resources.requests[cpu]: must be a number or a string (got ["1"])')


def test_a_number_out_of_range_is_named() -> None:
    assert complaint({"spec": {"priority": 2**40}}) == (f"spec.priority: must be at most 2147483647 (got {2**40})")


def test_a_map_where_a_list_belongs_is_named() -> None:
    assert complaint({"spec": {"containers": {"name": "a"}}}) == ('spec.containers: must be a list (got {"name": "a"})')


def test_an_object_must_be_a_map() -> None:
    assert complaint([]) == "must be a map (got [])"


def test_malformed_json_is_named_with_its_line() -> None:
    with pytest.raises(InputError) as caught:
        codec.decode(b'{\n"spec": x}', Pod)
    assert str(caught.value) == "line 2: JSON is malformed: invalid character"


def test_truncated_json_is_recognised() -> None:
    with pytest.raises(InputError, match="line 2: the JSON ends in the middle"):
        codec.decode(b'{\n"spec":', Pod)


@pytest.mark.parametrize("rest", ["", "x", r"\n", r"\u0041", "and some more text"])
@pytest.mark.parametrize("half", [r"\ud83d", r"\uDE00"])
def test_half_of_a_surrogate_pair_is_named_with_its_line(half: str, rest: str) -> None:
    text = '{\n"metadata": {"name": "' + r"\ud83d\ude00 \\ud800 " + half + rest + '"}}'
    with pytest.raises(InputError) as caught:
        codec.decode(text.encode(), Pod)
    assert str(caught.value) == (
        f"line 2: the escape {half} is half of a surrogate pair, which is no character; "
        "write both halves, or the character itself in UTF-8"
    )


def test_a_text_that_ends_after_half_of_a_surrogate_pair_ends_in_the_middle() -> None:
    with pytest.raises(InputError, match="line 1: the JSON ends in the middle"):
        codec.decode(rb'{"metadata": {"name": "\ud83d', Pod)


def test_text_that_is_not_utf8_is_recognised() -> None:
    with pytest.raises(InputError, match="is not UTF-8 text"):
        codec.decode(b'{"metadata":{"name":"\xff"}}', Pod)


@pytest.mark.parametrize("api_version", ["v1", "", None])
def test_a_kind_is_known_with_its_group_or_without_any(api_version: str | None) -> None:
    assert codec.class_for(codec.Header(api_version, "Pod")) is Pod


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [("serving.knative.dev/v1", "Service"), ("resource.k8s.io/v1beta1", "ResourceClaim"), ("v1", "Secret")],
)
def test_kinds_of_other_groups_and_shapes_are_unknown(api_version: str, kind: str) -> None:
    assert codec.class_for(codec.Header(api_version, kind)) is None
    with pytest.raises(InputError, match="kind: is not a kind that can be read"):
        codec.convert_object({"apiVersion": api_version, "kind": kind})


def test_an_object_needs_a_kind() -> None:
    with pytest.raises(InputError, match="kind: is missing"):
        codec.convert_object({"metadata": {"name": "a"}})
