# SPDX-License-Identifier: Apache-2.0
"""The lock files are what pyproject.toml asks for, complete, with hashes, and say nothing about where to get it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from scripts.lockfile import REQUIREMENTS, ROOT, LockedPackage, LockError, read_lock

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RUN = [Requirement(line) for line in PYPROJECT["project"]["dependencies"]]
DEV = [Requirement(line) for line in PYPROJECT["project"]["optional-dependencies"]["dev"]]
BUILD = [Requirement(line) for line in PYPROJECT["build-system"]["requires"]]
TOOLS = [Requirement(line) for line in PYPROJECT["dependency-groups"]["tools"]]
DOCS = [Requirement(line) for line in PYPROJECT["dependency-groups"]["docs"]]
LOCKS = ["run", "dev", "tools", "docs"]
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
PLATFORMS = [
    {"sys_platform": platform, "platform_machine": machine}
    for platform in ("linux", "darwin")
    for machine in ("x86_64", "aarch64")
]


def locked(name: str) -> list[LockedPackage]:
    return read_lock(REQUIREMENTS / f"{name}.lock")


def installed(name: str, environment: dict[str, str]) -> dict[str, str]:
    """Release by package, where `environment` is what markers are evaluated in."""
    chosen = [package for package in locked(name) if not package.marker or Marker(package.marker).evaluate(environment)]
    versions = {package.name: package.version for package in chosen}
    assert len(versions) == len(chosen), "two releases of one package in one environment"
    return versions


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize(
    ("lock", "requirements"), [("run", RUN), ("dev", [*RUN, *DEV, *BUILD]), ("tools", TOOLS), ("docs", DOCS)], ids=LOCKS
)
def test_a_lock_meets_every_requirement_on_every_supported_python_and_platform(
    lock: str, requirements: list[Requirement], python: str
) -> None:
    for platform in PLATFORMS:
        environment = {
            "python_version": python,
            "python_full_version": f"{python}.0",
            "platform_python_implementation": "CPython",
            "implementation_name": "cpython",
            **platform,
        }
        versions = installed(lock, environment)
        for requirement in requirements:
            if requirement.marker and not requirement.marker.evaluate(environment):
                continue
            version = versions.get(canonicalize_name(requirement.name))
            assert version is not None, f"{requirement.name} is not in {lock}.lock; `make lock` adds it"
            assert requirement.specifier.contains(version), (
                f"{lock}.lock has {version} for {requirement}; run `make lock`"
            )


@pytest.mark.parametrize("lock", LOCKS)
def test_whatever_is_locked_is_needed_by_the_project_or_by_something_that_is_locked(lock: str) -> None:
    names = {package.name for package in locked(lock)} | {"steersman"}
    assert all(package.required_by and set(package.required_by) <= names for package in locked(lock))


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_has_the_hashes_of_its_files(lock: str) -> None:
    assert all(package.digests for package in locked(lock))
    assert all(len(digest) == 64 for package in locked(lock) for digest in package.digests)


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_names_an_index_an_address_or_a_folder(lock: str) -> None:
    text = (REQUIREMENTS / f"{lock}.lock").read_text()
    assert not [word for word in ("://", "--index-url", "--find-links", "file:", " @ ") if word in text]


def test_developers_test_what_the_image_has() -> None:
    developers = [(package.name, package.version, package.digests) for package in locked("dev")]
    image = [(package.name, package.version, package.digests) for package in locked("run")]
    assert [package for package in image if package not in developers] == []


def test_every_supported_python_is_declared() -> None:
    classifiers = [
        text.rpartition(" ")[2]
        for text in PYPROJECT["project"]["classifiers"]
        if text.startswith("Programming Language")
    ]
    assert classifiers == ["3", *PYTHONS]


def test_a_line_that_no_lock_has_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.lock"
    broken.write_text("# written by hand\naiohttp==3.14.5 \\\n    --hash=sha256:00\naiohttp>=3\n")
    with pytest.raises(LockError, match=r"broken\.lock:4: not a line of a lock file: 'aiohttp>=3'"):
        read_lock(broken)


def test_a_hash_without_a_package_is_no_lock(tmp_path: Path) -> None:
    broken = tmp_path / "broken.lock"
    broken.write_text("    --hash=sha256:00\n")
    with pytest.raises(LockError, match=":1:"):
        read_lock(broken)
