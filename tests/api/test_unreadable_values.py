# SPDX-License-Identifier: Apache-2.0
"""Values that Python cannot read, quantities that are none, and what is left of an object without them."""

from __future__ import annotations

import pytest

from steersman import api
from steersman.api import codec
from steersman.api.lenient import readable_part
from steersman.api.quantity_fields import check_readable, field_path, quantities_in
from steersman.base.errors import InputError
from steersman.testing import make_node, make_pod


def test_a_quantity_of_more_digits_than_python_reads_is_read() -> None:
    text = '{"spec": {"containers": [{"resources": {"requests": {"cpu": %s}}}]}}' % ("9" * 5000)
    requests = codec.decode(text.encode(), api.Pod).spec.containers[0].resources.requests
    assert requests == {"cpu": "9" * 5000}


@pytest.mark.parametrize("number", ["9" * 5000, "1e999"])
def test_an_integer_that_no_field_holds_is_an_error_that_names_the_field(number: str) -> None:
    with pytest.raises(InputError) as caught:
        codec.decode(b'{"spec": {"priority": %s}}' % number.encode(), api.Pod)
    assert caught.value.field == "spec.priority"


def test_a_number_out_of_range_beside_a_null_does_no_harm() -> None:
    pod = codec.decode(b'{"metadata": null, "spec": {"nodeName": "n1"}, "unknown": 1e999}', api.Pod)
    assert pod.spec.node_name == "n1"


@pytest.mark.parametrize(
    ("obj", "field"),
    [
        (make_pod("p").req(cpu="lots").obj(), "spec.containers[0].resources.requests.cpu"),
        (make_node("n").capacity(memory="1Qi").obj(), "status.capacity.memory"),
        (api.PersistentVolume(spec=api.PersistentVolumeSpec(capacity={"storage": "x"})), "spec.capacity.storage"),
        (api.CSIStorageCapacity(capacity="1.2.3"), "capacity"),
    ],
)
def test_the_first_quantity_that_cannot_be_read_is_named(obj: api.Object, field: str) -> None:
    with pytest.raises(InputError) as caught:
        check_readable(obj)
    assert caught.value.field == field


def test_quantities_are_found_in_every_container() -> None:
    pod = make_pod("p").req(cpu="1", memory="2Gi").init_req(cpu="3").overhead(cpu="4").obj()
    found = {field_path(at.steps): at.value for at in quantities_in(pod)}
    assert found["spec.containers[0].resources.requests.memory"] == "2Gi"
    assert found["spec.initContainers[0].resources.requests.cpu"] == "3"
    assert found["spec.overhead.cpu"] == "4"


def test_what_can_be_read_of_an_object_is_left() -> None:
    data = {
        "metadata": {"name": "p", "labels": ["none"]},
        "spec": {
            "nodeName": "n1",
            "priority": "high",
            "containers": ["none", {"name": "c", "resources": {"requests": {"cpu": "2", "memory": "lots", "gpu": []}}}],
        },
    }
    pod = readable_part(data, api.Pod)
    assert pod is not None
    assert (pod.metadata.name, pod.spec.node_name) == ("p", "n1")
    assert [container.resources.requests for container in pod.spec.containers] == [{"cpu": "2"}]


@pytest.mark.parametrize("data", [None, [], "text", 7])
def test_nothing_is_left_of_what_is_no_object(data: object) -> None:
    assert readable_part(data, api.Pod) is None


@pytest.mark.parametrize("data", [{"spec": [0]}, {"metadata": {"name": 1}}, {"status": {"phase": {}}}])
def test_an_object_with_nothing_right_in_it_is_empty(data: object) -> None:
    assert readable_part(data, api.Pod) == api.Pod()
