# SPDX-License-Identifier: Apache-2.0
"""The bill of materials lists what is in the image, with version and hashes, and is the same for the same input."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from scripts.lockfile import REQUIREMENTS, LockedPackage, read_lock
from scripts.sbom import bill_of_materials, project_version

EPOCH = 1_700_000_000
LOCKED = read_lock(REQUIREMENTS / "run.lock")


def test_every_locked_dependency_is_listed_with_version_and_hashes() -> None:
    components = bill_of_materials("1.2.3", LOCKED, EPOCH)["components"]
    assert {_identity(component): _digests(component) for component in components} == {
        (package.name, package.version): package.digests for package in LOCKED
    }
    assert len(components) == len(LOCKED) > 20


def test_packages_are_named_as_vulnerability_databases_name_them() -> None:
    components = bill_of_materials("1.2.3", LOCKED, EPOCH)["components"]
    assert {component["purl"] for component in components} >= {
        f"pkg:pypi/{package.name}@{package.version}" for package in LOCKED
    }


def test_the_product_is_the_project_and_its_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / "steersman.whl"
    wheel.write_bytes(b"content")
    product = bill_of_materials(project_version(), LOCKED, EPOCH, wheel)["metadata"]["component"]
    assert _identity(product) == ("steersman", project_version())
    assert product["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(b"content").hexdigest()}]


def test_dependencies_are_listed() -> None:
    packages = [
        LockedPackage("a", "1", "", ["00"], ["steersman"]),
        LockedPackage("b", "2", "sys_platform == 'linux'", ["11"], ["a", "steersman"]),
    ]
    document = bill_of_materials("9", packages, EPOCH)
    assert {entry["ref"]: entry["dependsOn"] for entry in document["dependencies"]} == {
        "pkg:pypi/steersman@9": ["pkg:pypi/a@1", "pkg:pypi/b@2"],
        "pkg:pypi/a@1": ["pkg:pypi/b@2"],
        "pkg:pypi/b@2": [],
    }
    (marker,) = document["components"][1]["properties"]
    assert marker["value"] == "sys_platform == 'linux'"


def test_the_same_input_gives_the_same_document_and_another_one_another_serial_number() -> None:
    first = bill_of_materials("1", LOCKED, EPOCH)
    assert first == bill_of_materials("1", LOCKED, EPOCH)
    assert first["serialNumber"] != bill_of_materials("1", LOCKED[1:], EPOCH)["serialNumber"]
    assert first["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"


def _identity(component: dict[str, Any]) -> tuple[str, str]:
    return component["name"], component["version"]


def _digests(component: dict[str, Any]) -> list[str]:
    (files,) = component["externalReferences"]
    return [entry["content"] for entry in files["hashes"] if entry["alg"] == "SHA-256"]
