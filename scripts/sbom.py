# SPDX-License-Identifier: Apache-2.0
"""`make sbom`: the bill of materials of a release, CycloneDX 1.6 in JSON, from the lock file of the image.

The same lock, version and commit give the same bytes: the serial number is derived from the content, the time is that of
SOURCE_DATE_EPOCH. `scripts/check_sbom.py` holds the result against the schema.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tomllib
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from scripts.lockfile import REQUIREMENTS, ROOT, LockedPackage, read_lock

PROJECT: Final = "steersman"
Json = dict[str, Any]


def bill_of_materials(version: str, packages: Iterable[LockedPackage], epoch: int, wheel: Path | None = None) -> Json:
    """Of the release `version`, whose image has `packages` in it, made at `epoch`; and of its wheel, if given."""
    locked = list(packages)
    metadata = {
        "timestamp": datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "lifecycles": [{"phase": "build"}],
        "component": _product(version, wheel),
    }
    content = {
        "metadata": metadata,
        "components": [_component(package) for package in locked],
        "dependencies": _dependencies(version, locked),
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    header = {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{serial}", "version": 1}
    return {"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", **header, **content}


def project_version(source: Path = ROOT) -> str:
    """Of pyproject.toml, the one place where the version is written."""
    version = tomllib.loads((source / "pyproject.toml").read_text())["project"]["version"]
    assert isinstance(version, str)
    return version


def write_json(document: Json, path: Path) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n")


def _product(version: str, wheel: Path | None) -> Json:
    component = {
        "type": "application",
        "bom-ref": _purl(PROJECT, version),
        "name": PROJECT,
        "version": version,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "purl": _purl(PROJECT, version),
    }
    if wheel is not None:
        component["hashes"] = [_hash(hashlib.sha256(wheel.read_bytes()).hexdigest())]
    return component


def _component(package: LockedPackage) -> Json:
    """The hashes are those of the release's files, of which an installation takes one: they stand with the distribution."""
    files = {
        "type": "distribution",
        "url": _purl(package.name, package.version),
        "hashes": [_hash(digest) for digest in package.digests],
    }
    component = {
        "type": "library",
        "bom-ref": _purl(package.name, package.version),
        "name": package.name,
        "version": package.version,
        "scope": "required",
        "purl": _purl(package.name, package.version),
        "externalReferences": [files],
    }
    if package.marker:
        component["properties"] = [{"name": "steersman:environment-marker", "value": package.marker}]
    return component


def _dependencies(version: str, locked: list[LockedPackage]) -> list[Json]:
    """Who needs whom: as the lock file says in the other direction."""
    users = [(PROJECT, version), *((package.name, package.version) for package in locked)]
    return [
        {
            "ref": _purl(name, release),
            "dependsOn": [_purl(package.name, package.version) for package in locked if name in package.required_by],
        }
        for name, release in users
    ]


def _hash(digest: str) -> Json:
    return {"alg": "SHA-256", "content": digest}


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def main() -> None:
    if len(sys.argv) != 2 or not os.environ.get("SOURCE_DATE_EPOCH", "").isdigit():
        sys.exit("usage: SOURCE_DATE_EPOCH=SECONDS python -m scripts.sbom FILE")
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    write_json(bill_of_materials(project_version(), read_lock(REQUIREMENTS / "run.lock"), epoch), Path(sys.argv[1]))


if __name__ == "__main__":
    main()
