# SPDX-License-Identifier: Apache-2.0
"""The field tables: found by kind, followed by path, read only when asked for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from steersman.api import schemas
from steersman.api.schemas import FieldSchema, schema_of
from steersman.base.errors import InputError

CONTAINERS = ("spec", "template", "spec", "containers")


def deployment() -> FieldSchema:
    schema = schema_of("apps/v1", "Deployment")
    assert schema is not None
    return schema


def field_at(schema: FieldSchema, path: Iterable[str | int]) -> FieldSchema | None:
    """The field that names and indices lead to: `("spec", "containers", 0, "image")`."""
    found: FieldSchema | None = schema
    for step in path:
        if found is None:
            return None
        found = found.elements if isinstance(step, int) else found.child(step)
    return found


def test_a_built_in_kind_is_found_by_version_and_kind() -> None:
    assert schema_of("v1", "Pod") is not None
    assert schema_of("resource.k8s.io/v1", "ResourceClaim") is not None


def test_a_custom_kind_has_no_schema() -> None:
    assert schema_of("example.com/v1", "Deployment") is None


def test_a_path_leads_to_a_field() -> None:
    image = field_at(deployment(), (*CONTAINERS, 0, "image"))
    assert image is not None
    assert image.types == {"string"}
    assert image.node["description"].startswith("Container image name")


def test_a_path_beyond_what_there_is_leads_nowhere() -> None:
    assert field_at(deployment(), ("spec", "replica")) is None
    assert field_at(deployment(), ("spec", "replica", "deeper")) is None


def test_lists_tell_how_they_are_merged() -> None:
    containers = field_at(deployment(), CONTAINERS)
    assert containers is not None
    assert (containers.list_type, containers.list_map_keys) == ("map", ("name",))
    assert containers.patch_merge_key == "name"
    assert containers.patch_strategies == {"merge"}
    tolerations = field_at(deployment(), ("spec", "template", "spec", "tolerations"))
    assert tolerations is not None
    assert (tolerations.list_type, tolerations.patch_merge_key) == ("atomic", "")


def test_a_patch_strategy_may_have_two_parts() -> None:
    volumes = field_at(deployment(), ("spec", "template", "spec", "volumes"))
    assert volumes is not None
    assert volumes.patch_strategies == {"merge", "retainKeys"}


def test_the_protocol_of_a_port_has_its_default() -> None:
    ports = field_at(deployment(), (*CONTAINERS, 0, "ports"))
    assert ports is not None
    assert ports.elements is not None
    protocol = ports.elements.child("protocol")
    assert protocol is not None
    assert protocol.default == "TCP"


def test_values_of_maps_are_known_under_any_name() -> None:
    label = field_at(deployment(), ("metadata", "labels", "app.kubernetes.io/name"))
    assert label is not None
    assert label.types == {"string"}


def test_a_selector_is_replaced_as_a_whole() -> None:
    selector = field_at(deployment(), ("spec", "selector"))
    assert selector is not None
    assert selector.is_atomic_map


def test_an_int_or_string_may_be_either() -> None:
    surge = field_at(deployment(), ("spec", "strategy", "rollingUpdate", "maxSurge"))
    assert surge is not None
    assert surge.types == {"integer", "string"}


def test_holes_for_any_json_take_every_field() -> None:
    for path in (("metadata", "managedFields", 0, "fieldsV1"),):
        schema = field_at(deployment(), path)
        assert schema is not None
        assert schema.preserves_unknown_fields
    assert not deployment().preserves_unknown_fields


def test_definitions_that_refer_to_themselves_can_be_followed_without_end() -> None:
    crd = schema_of("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    assert crd is not None
    properties = field_at(crd, ("spec", "versions", 0, "schema", "openAPIV3Schema", *("properties", "x") * 20))
    assert properties is not None
    assert properties.child("maxLength") is not None


def test_the_schema_of_a_custom_resource_needs_no_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "definitions", None)
    schema = FieldSchema({"type": "object", "properties": {"size": {"type": "integer", "default": 3}}})
    size = schema.child("size")
    assert size is not None
    assert size.default == 3


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "find_spec", lambda _: None)
    with pytest.raises(InputError, match="the package kubernetes-validate is not installed"):
        schemas.definitions.__wrapped__()


def test_a_package_without_the_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "DATA_FILE", "of/another/release.json")
    with pytest.raises(InputError, match=r"has no of/another/release\.json"):
        schemas.definitions.__wrapped__()


def test_a_damaged_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    damaged = tmp_path / "definitions.json"
    damaged.write_text("{")
    monkeypatch.setattr(schemas, "_data_file", lambda: damaged)
    with pytest.raises(InputError, match=r"definitions\.json: the field tables of kubernetes-validate cannot be read"):
        schemas.definitions.__wrapped__()


def test_the_code_of_the_package_is_never_imported() -> None:
    program = (
        "import sys; from steersman.api.schemas import schema_of; assert schema_of('v1', 'Pod');"
        "print([name for name in ('kubernetes_validate', 'jsonschema') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_is_kept_of_names_that_users_write() -> None:
    labels = field_at(deployment(), ("metadata", "labels"))
    assert labels is not None
    assert labels.child("a") is labels.child("b")
    assert deployment().child("anything") is None
    assert not labels._children
    assert "anything" not in deployment()._children
