# SPDX-License-Identifier: Apache-2.0
"""A release: complete, the same bytes for the same commit, and from a commit only."""

from __future__ import annotations

import email
import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from scripts.lockfile import ROOT
from scripts.release import PAGES, ReleaseError, release, write_archive
from scripts.sbom import project_version

from scripts import web_page

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None and os.environ.get("CI") != "true",
    reason="a release is made from a commit: git is needed",
)

DIGEST = "sha256:" + "5e" * 32
DOWNLOADS = "https://downloads.example.com/steersman/"
ADDRESS = "https://code.example.com/someone/steersman"
BASE = f"python:3.13-slim@{DIGEST}"
VERSION = project_version()
EPOCH = 1_700_000_000
#: Enough of the project to build it; tests and documentation would only take time.
PARTS = [
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "src",
    "deploy",
    "requirements",
    "examples",
    "man",
    "scripts",
    "hatch_build.py",
]


def make_repository(folder: Path) -> Path:
    """A commit with the project as it is in the folder of this test; the author's machine and time are made up."""
    folder.mkdir()
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / part)
    for page in (folder / "src" / name for name in PAGES):
        if not page.exists():  # building it needs Node: any page will do here
            page.parent.mkdir(parents=True)
            page.write_text("<!doctype html>\n")
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Release")
    return folder


def git(folder: Path, *arguments: str) -> None:
    person = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com", "-c", "commit.gpgsign=false"]
    times = {"GIT_AUTHOR_DATE": f"{EPOCH} +0000", "GIT_COMMITTER_DATE": f"{EPOCH} +0000"}
    subprocess.run(["git", *person, *arguments], cwd=folder, check=True, env={**os.environ, **times})


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("release") / "repository")


@pytest.fixture(scope="module")
def files(repository: Path) -> dict[str, Path]:
    output = repository.parent / "first"
    return {path.name: path for path in release(repository, output, BASE, DIGEST, DOWNLOADS, ADDRESS)}


def test_wheel_sources_image_chart_materials_and_checksums_are_built(files: dict[str, Path]) -> None:
    assert set(files) == {
        f"steersman-{VERSION}-py3-none-any.whl",
        f"steersman-{VERSION}.tar.gz",
        f"steersman-{VERSION}-image-context.tar.gz",
        f"steersman-{VERSION}.tgz",
        f"steersman-{VERSION}.cdx.json",
        f"steersman-{VERSION}-krew.tar.gz",
        f"steersman-{VERSION}-krew.yaml",
        "SHA256SUMS",
    }


def test_two_builds_in_different_places_give_the_same_bytes(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Pacific/Chatham")
    before = os.umask(0o077)
    try:
        elsewhere = make_repository(tmp_path / "somewhere else")
        again = release(elsewhere, tmp_path / "second", BASE, DIGEST, DOWNLOADS, ADDRESS)
    finally:
        os.umask(before)
    assert {path.name: path.read_bytes() for path in again} == {name: path.read_bytes() for name, path in files.items()}


@pytest.mark.parametrize("page", PAGES)
def test_a_wheel_without_a_built_page_is_not_released(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    monkeypatch.setenv(web_page.SKIP, "1")
    bare = tmp_path / "bare"
    shutil.copytree(repository, bare)
    shutil.rmtree((bare / "src" / page).parent)
    git(bare, "commit", "--all", "--quiet", "--message", "Without the page")
    with pytest.raises(ReleaseError, match=f"has no {page}: the web page was not built"):
        release(bare, tmp_path / "dist", BASE, DIGEST)
    assert not (tmp_path / "dist").exists()


def test_the_checksums_are_those_of_the_files(files: dict[str, Path]) -> None:
    lines = [line.split("  ") for line in files["SHA256SUMS"].read_text().splitlines()]
    assert {name: digest for digest, name in lines} == {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items() if name != "SHA256SUMS"
    }


def test_times_in_archives_are_those_of_the_commit(files: dict[str, Path]) -> None:
    for name in (
        f"steersman-{VERSION}-image-context.tar.gz",
        f"steersman-{VERSION}.tgz",
        f"steersman-{VERSION}.tar.gz",
        f"steersman-{VERSION}-krew.tar.gz",
    ):
        with tarfile.open(files[name]) as archive:
            assert {(member.mtime, member.uid, member.uname) for member in archive} == {(EPOCH, 0, "")}
    with zipfile.ZipFile(files[f"steersman-{VERSION}-py3-none-any.whl"]) as wheel:
        assert {entry.date_time for entry in wheel.infolist()} == {(2023, 11, 14, 22, 13, 20)}


def test_krew_gets_a_program_that_can_be_run_and_a_manifest_with_its_checksum(files: dict[str, Path]) -> None:
    archive = files[f"steersman-{VERSION}-krew.tar.gz"]
    (platform,) = yaml.safe_load(files[f"steersman-{VERSION}-krew.yaml"].read_text())["spec"]["platforms"]
    assert platform["uri"] == f"{DOWNLOADS}{archive.name}"
    assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    with tarfile.open(archive) as unpacked:
        modes = {member.name: member.mode for member in unpacked}
    assert modes == {platform["bin"]: 0o755, "LICENSE": 0o644}
    assert set(modes) == {entry["from"] for entry in platform["files"]}
    assert "DOWNLOADS" not in files[f"steersman-{VERSION}-krew.yaml"].read_text()


def test_an_address_that_krew_does_not_take_is_refused(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="--downloads 'ftp://somewhere' is no address that krew takes"):
        release(repository, tmp_path / "dist", BASE, DIGEST, "ftp://somewhere")


def test_the_image_context_has_what_the_dockerfile_copies(files: dict[str, Path]) -> None:
    with tarfile.open(files[f"steersman-{VERSION}-image-context.tar.gz"]) as archive:
        contents = {member.name: _content(archive, member) for member in archive}
    dockerfile = contents["Dockerfile"].decode()
    (copied,) = [
        line.split()[1:-1] for line in dockerfile.splitlines() if line.startswith("COPY ") and "--from" not in line
    ]
    assert copied == ["run.lock", "steersman-*.whl"]
    wheel = f"steersman-{VERSION}-py3-none-any.whl"
    assert set(contents) == {"Dockerfile", "run.lock", wheel}
    assert contents[wheel] == files[wheel].read_bytes()
    assert contents["run.lock"] == (ROOT / "requirements" / "run.lock").read_bytes()


def test_base_image_and_image_are_named_by_digest_when_they_are_known(files: dict[str, Path]) -> None:
    with tarfile.open(files[f"steersman-{VERSION}-image-context.tar.gz"]) as archive:
        assert f"ARG BASE_IMAGE={BASE}" in _content(archive, archive.getmember("Dockerfile")).decode().splitlines()
    with tarfile.open(files[f"steersman-{VERSION}.tgz"]) as chart:
        values = yaml.safe_load(_content(chart, chart.getmember("steersman/values.yaml")))
    assert values["image"]["digest"] == DIGEST


def test_the_materials_name_the_wheel_by_its_hash(files: dict[str, Path]) -> None:
    product = json.loads(files[f"steersman-{VERSION}.cdx.json"].read_text())["metadata"]["component"]
    wheel = files[f"steersman-{VERSION}-py3-none-any.whl"].read_bytes()
    assert (product["version"], product["hashes"][0]["content"]) == (VERSION, hashlib.sha256(wheel).hexdigest())


def test_the_version_comes_from_one_place(files: dict[str, Path]) -> None:
    with zipfile.ZipFile(files[f"steersman-{VERSION}-py3-none-any.whl"]) as wheel:
        metadata = wheel.read(f"steersman-{VERSION}.dist-info/METADATA").decode()
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nVersion: {declared}\n" in metadata


def test_an_earlier_release_is_replaced_and_other_files_stay(repository: Path, tmp_path: Path) -> None:
    for name in ("steersman-0.0.1.tar.gz", "SHA256SUMS", "notes.txt"):
        (tmp_path / name).write_text("old")
    released = {path.name for path in release(repository, tmp_path)}
    assert {path.name for path in tmp_path.iterdir()} == {*released, "notes.txt"}
    assert (tmp_path / "SHA256SUMS").read_text() != "old"


@pytest.mark.parametrize("name", ["new.txt", "README.md"])
def test_a_tree_with_changes_is_refused(repository: Path, name: str, tmp_path: Path) -> None:
    changed = repository / name
    before = changed.read_bytes() if changed.exists() else None
    changed.write_text("not committed")
    try:
        with pytest.raises(ReleaseError, match=rf"has changes that no commit has(.|\n)*{name}"):
            release(repository, tmp_path / "out")
    finally:
        changed.unlink() if before is None else changed.write_bytes(before)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("base_image", "image_digest", "words"),
    [
        ("python:3.13-slim", "", "--base-image 'python:3.13-slim' can be moved"),
        ("python@sha256:12", "", "--base-image 'python@sha256:12' can be moved"),
        ("", "latest", "--image-digest 'latest' is none"),
    ],
)
def test_what_is_no_digest_is_refused(
    repository: Path, tmp_path: Path, base_image: str, image_digest: str, words: str
) -> None:
    with pytest.raises(ReleaseError, match=words):
        release(repository, tmp_path / "out", base_image, image_digest)


def test_a_folder_without_commits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="git status"):
        release(tmp_path, tmp_path / "out")


def test_an_archive_does_not_depend_on_its_own_name_or_the_order_of_files(tmp_path: Path) -> None:
    one, two = tmp_path / "one.tar.gz", tmp_path / "two.tar.gz"
    write_archive(one, {"a": b"1", "b": b"2"}, EPOCH)
    write_archive(two, {"b": b"2", "a": b"1"}, EPOCH)
    assert one.read_bytes() == two.read_bytes()


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    assert file is not None
    return file.read()


def test_the_package_has_project_urls_and_a_description_with_absolute_links(files: dict[str, Path]) -> None:
    with zipfile.ZipFile(files[f"steersman-{VERSION}-py3-none-any.whl"]) as archive:
        metadata = email.message_from_bytes(archive.read(f"steersman-{VERSION}.dist-info/METADATA"))
    urls = dict(value.split(", ", 1) for value in metadata.get_all("Project-URL", []))
    assert urls["Repository"] == ADDRESS
    assert {"Documentation", "Changelog", "Issues"} <= urls.keys()
    assert metadata["Description-Content-Type"] == "text/markdown"
    description = metadata.get_payload()
    assert f"]({ADDRESS}/blob/v{VERSION}/docs/tutorial.md)" in description
    assert f"]({ADDRESS}/raw/v{VERSION}/docs/terminal.svg)" in description
    assert "](docs/" not in description


def test_an_address_of_the_repository_that_no_index_takes_is_refused(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="--repository 'git@somewhere' is no address"):
        release(repository, tmp_path / "dist", BASE, DIGEST, DOWNLOADS, "git@somewhere")
