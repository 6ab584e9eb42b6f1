# SPDX-License-Identifier: Apache-2.0
"""Objects of built-in kinds that are refused: decoding, rules, immutable fields. Cases are in YAML files beside this one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from steersman.api.defaults import with_default_fields
from steersman.api.schemas import FieldSchema, schema_of
from steersman.api.strict_decoding import DecodingError, decoded
from steersman.api.validation import validate, validate_metadata, validate_update, with_metadata_errors
from steersman.cluster.apiserver.invalid_objects import refuse
from steersman.cluster.apiserver.patches import merge_patched
from steersman.cluster.store.errors import StatusError

HERE = Path(__file__).parent
BAD_OBJECTS: list[dict[str, Any]] = yaml.safe_load((HERE / "bad_objects.yaml").read_text())
BAD_UPDATES: list[dict[str, Any]] = yaml.safe_load((HERE / "bad_updates.yaml").read_text())
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "a", "image": "x"}]},
}


def schema_for(document: dict[str, Any]) -> FieldSchema:
    schema = schema_of(document["apiVersion"], document["kind"])
    assert schema is not None
    return schema


def validated(document: dict[str, Any], old: dict[str, Any] | None = None) -> None:
    known = with_default_fields(decoded(document, schema_for(document), "Strict").document)
    stored = old and with_default_fields(old)
    if stored is None:
        problems = with_metadata_errors(known, validate(known))
    else:
        problems = [*validate_metadata(known, stored), *validate_update(known, stored)]
    refuse(known["apiVersion"], known["kind"], known["metadata"].get("name", ""), problems)


@pytest.mark.parametrize("case", BAD_OBJECTS, ids=[case["refusal"][:60] for case in BAD_OBJECTS])
def test_a_bad_object_is_refused_in_upstreams_words(case: dict[str, Any]) -> None:
    with pytest.raises((StatusError, DecodingError)) as refusal:
        validated(case["object"])
    assert str(refusal.value) == case["refusal"]


@pytest.mark.parametrize("case", BAD_UPDATES, ids=[case["refusal"][:60] for case in BAD_UPDATES])
def test_what_must_not_change_is_refused_in_upstreams_words(case: dict[str, Any]) -> None:
    validated(case["object"])
    with pytest.raises(StatusError) as refusal:
        validated(merge_patched(case["object"], case["patch"]), case["object"])
    assert refusal.value.message.split("\n")[0] == case["refusal"]


def test_an_image_a_toleration_and_a_gate_of_a_pod_may_change() -> None:
    gated = {**POD, "spec": {**POD["spec"], "schedulingGates": [{"name": "g"}], "terminationGracePeriodSeconds": 30}}
    new = {
        **POD,
        "spec": {"containers": [{"name": "a", "image": "y"}], "tolerations": [{"key": "x", "operator": "Exists"}]},
    }
    validated(new, gated)


def test_what_an_update_leaves_out_is_no_change() -> None:
    stored = {**POD, "spec": {**POD["spec"], "dnsPolicy": "ClusterFirst", "restartPolicy": "Always"}}
    validated(POD, stored)


def test_unknown_fields_are_warned_of_or_ignored_and_dropped() -> None:
    document = {**POD, "foo": 1}
    assert decoded(document, schema_for(POD), "Warn") == (POD, ('unknown field "foo"',))
    assert decoded(document, schema_for(POD), "Ignore") == (POD, ())
    with pytest.raises(DecodingError, match='strict decoding error: unknown field "foo"'):
        decoded(document, schema_for(POD), "Strict")


def test_nulls_are_absent_fields() -> None:
    assert decoded({**POD, "status": None}, schema_for(POD)).document == POD


def test_quantities_and_ports_may_be_numbers_or_texts() -> None:
    container = {"name": "a", "image": "x", "resources": {"requests": {"cpu": 1, "memory": "1Gi"}}}
    probe = {"livenessProbe": {"httpGet": {"port": "http"}}, "readinessProbe": {"httpGet": {"port": 80}}}
    validated({**POD, "spec": {"containers": [{**container, **probe}]}})
