# SPDX-License-Identifier: Apache-2.0
"""Validation takes any JSON anywhere, and a time that grows no faster than the document."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.validation.recorded_answers import Json, read

from steersman.api.defaults import with_default_fields
from steersman.api.validation import MODULES, RULES, validate, validate_update, well_typed

HEAD, CASES = read(Path(__file__).parents[1] / "golden" / "validation" / "kube-apiserver-1.36.jsonl.gz")
DOCUMENTS = [case["object"] for case in CASES if "object" in case] + list(HEAD["bases"].values())

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["", "0", "-1", "1Gi", "50%", "a/b", "..", "10.0.0.0/8", "*/5 * * * *", "Always", "In", "None"])
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values inside a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return (
        [path, *(place for key, member in inner for place in places(member, (*path, key)))]
        if path
        else [place for key, member in inner for place in places(member, (key,))]
    )


@st.composite
def mutated(draw: st.DrawFn) -> Json:
    document: Json = copy.deepcopy(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 3))):
        *parents, last = draw(st.sampled_from(places(document)))
        holder: Any = document
        for step in parents:
            holder = holder[step]
        holder[last] = draw(ANYTHING)
    return document


@given(mutated())
def test_any_json_anywhere_is_validated_without_an_exception(document: Json) -> None:
    for error in validate(document):
        assert str(error)


@given(mutated(), mutated())
def test_any_update_of_decoded_objects_is_validated_without_an_exception(document: Json, old: Json) -> None:
    new, stored = well_typed(document), well_typed(old)
    if new is not None and stored is not None:
        new, stored = with_default_fields(new), with_default_fields({**stored, "kind": new["kind"]})
        validate_update(new, stored)
        validate(new, is_decoded=True)


def test_each_kind_has_its_rules_in_one_module() -> None:
    assert len(RULES) == sum(len(module.RULES) for module in MODULES)


def pod(**spec: Any) -> Json:
    spec = {"containers": [{"name": "c", "image": "i"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def container(**fields: Any) -> Json:
    return pod(containers=[{"name": "c", "image": "i", **fields}])


def affinity(**term: Any) -> Json:
    return pod(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})


LARGE: dict[str, Callable[[int], Json]] = {
    "ports": lambda n: container(ports=[{"containerPort": 1, "hostPort": i + 1} for i in range(n)]),
    "mounts and devices": lambda n: container(
        volumeMounts=[{"name": f"v{i}", "mountPath": f"/{i}"} for i in range(n)],
        volumeDevices=[{"name": f"d{i}", "devicePath": f"/{i}"} for i in range(n)],
    ),
    "references to claims": lambda n: container(resources={"claims": [{"name": f"c{i}"} for i in range(n)]}),
    "tolerations": lambda n: pod(tolerations=[{"key": f"k{i}", "operator": "Exists"} for i in range(n)]),
    "spread constraints": lambda n: pod(
        topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": f"k{i}", "whenUnsatisfiable": "x"} for i in range(n)]
    ),
    "label keys": lambda n: affinity(
        topologyKey="k",
        labelSelector={},
        matchLabelKeys=[f"k{i}" for i in range(n)],
        mismatchLabelKeys=[f"m{i}" for i in range(n)],
    ),
    "volumes": lambda n: pod(volumes=[{"name": f"v{i}", "emptyDir": {}} for i in range(n)]),
}


def seconds(document: Json) -> float:
    """Return the CPU time of validating a new pod and an update that changes nothing, the best of three."""
    found = []
    for _ in range(3):
        start = time.process_time()
        completed = with_default_fields(document)
        validate(completed)
        validate_update(completed, completed)
        found.append(time.process_time() - start)
    return min(found)


@pytest.mark.parametrize("name", LARGE)
def test_the_time_of_validation_grows_with_the_size_of_the_document(name: str) -> None:
    small, large = seconds(LARGE[name](500)), seconds(LARGE[name](4_000))
    assert large < 24 * small  # eight times as large; quadratic rules would take sixty-four times as long
