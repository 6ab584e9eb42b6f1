# SPDX-License-Identifier: Apache-2.0
"""`make release`: everything that is published, from the commit that is checked out, into dist/.

| file | what it is |
|---|---|
| `steersman-V-py3-none-any.whl`, `steersman-V.tar.gz` | wheel and source distribution |
| `steersman-V-image-context.tar.gz` | Dockerfile, lock and wheel: `docker build - < FILE` |
| `steersman-V.tgz` | the Helm chart |
| `steersman-V-krew.tar.gz`, `steersman-V-krew.yaml` | `kubectl steersman` for krew, and its manifest |
| `steersman-V.cdx.json` | the bill of materials |
| `SHA256SUMS` | of all of them |

The same commit gives the same bytes, wherever and whenever it is built: files come from the commit, not from the folder; times
are the commit's, archives are written in order and without owners, and the builder is the one of the lock. A tree with changes
is refused, because its commit would not give what is released.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from scripts.lockfile import ROOT, read_lock
from scripts.package_description import REPOSITORY
from scripts.sbom import PROJECT, bill_of_materials, project_version, write_json

_CHECKSUMS: Final = "SHA256SUMS"
PAGES: Final = ("steersman/sandbox/web/page/index.html", "steersman/base/report/page/report.js")
"""Built files that a wheel must have: the web page, and what draws reports."""
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_BASE_IMAGE_LINE: Final = re.compile(r"^ARG BASE_IMAGE=.*$", re.MULTILINE)
_IMAGE_DIGEST_LINE: Final = re.compile(r'^  digest: ""$', re.MULTILINE)
_KREW_CHECKSUM_LINE: Final = re.compile(r'^    sha256: "0{64}"$', re.MULTILINE)
_KREW_COMMENT: Final = re.compile(r"^# The manifest.*?(?=^apiVersion)", re.MULTILINE | re.DOTALL)
_DOWNLOADS: Final = "https://DOWNLOADS"
_PROGRAM: Final = "kubectl-steersman"


class ReleaseError(Exception):
    """Reasons for which a release is refused, as messages."""


def release(
    repository: Path, output: Path, base_image: str = "", image_digest: str = "", downloads: str = "", address: str = ""
) -> list[Path]:
    """Builds the commit that `repository` is at into `output`; the files, SHA256SUMS last. `downloads` is the address below
    which they are published, `address` that of the repository."""
    _check_digests(base_image, image_digest)
    if downloads and not downloads.startswith("https://"):
        raise ReleaseError(f"--downloads {downloads!r} is no address that krew takes: https://…")
    if address and not address.startswith("https://"):
        raise ReleaseError(f"--repository {address!r} is no address that a package index takes: https://…")
    _check_clean(repository)
    epoch = int(_git(repository, "log", "-1", "--format=%ct"))
    with tempfile.TemporaryDirectory() as folder:
        source, built = Path(folder, "source"), Path(folder, "built")
        _export(repository, source)
        built.mkdir()
        _build(source, built, epoch, base_image, image_digest, address)
        _build_krew(source, built, epoch, downloads)
        _write_checksums(built)
        return _replace(built, output)


def _build(source: Path, built: Path, epoch: int, base_image: str, image_digest: str, address: str) -> None:
    version = project_version(source)
    _build_distributions(source, built, epoch, address)
    wheel = built / f"{PROJECT}-{version}-py3-none-any.whl"
    _check_page(wheel)
    lock = source / "requirements" / "run.lock"
    dockerfile = (source / "deploy" / "Dockerfile").read_text()
    if base_image:
        dockerfile = _replaced_once(_BASE_IMAGE_LINE, f"ARG BASE_IMAGE={base_image}", dockerfile)
    context = {"Dockerfile": dockerfile.encode(), "run.lock": lock.read_bytes(), wheel.name: wheel.read_bytes()}
    write_archive(built / f"{PROJECT}-{version}-image-context.tar.gz", context, epoch)
    write_archive(built / f"{PROJECT}-{version}.tgz", _chart(source, image_digest), epoch)
    write_json(bill_of_materials(version, read_lock(lock), epoch, wheel), built / f"{PROJECT}-{version}.cdx.json")


def _build_distributions(source: Path, built: Path, epoch: int, address: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(built), "-t", "wheel", "-t", "sdist"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "PYTHONHASHSEED": "0", REPOSITORY: address}
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"hatchling could not build the distributions:\n{done.stdout}{done.stderr}")


def _check_page(wheel: Path) -> None:
    """The build hook only warns without Node: an installation continues, a release must not."""
    with zipfile.ZipFile(wheel) as archive:
        for page in PAGES:
            if page not in archive.namelist():
                raise ReleaseError(f"{wheel.name} has no {page}: the web page was not built; `make web` says why")


def _chart(source: Path, image_digest: str) -> dict[str, bytes]:
    """As `helm package` lays it out: below a folder of the chart's name."""
    folder = source / "deploy" / "chart"
    files = {f"{PROJECT}/{path.relative_to(folder)}": path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    if image_digest:
        values = files[f"{PROJECT}/values.yaml"].decode()
        files[f"{PROJECT}/values.yaml"] = _replaced_once(
            _IMAGE_DIGEST_LINE, f"  digest: {image_digest}", values
        ).encode()
    return files


def _build_krew(source: Path, built: Path, epoch: int, downloads: str) -> None:
    """The archive that krew unpacks, and the manifest with its checksum. Without an address the manifest says DOWNLOADS."""
    folder, name = source / "deploy" / "krew", f"{PROJECT}-{project_version(source)}-krew"
    archive = built / f"{name}.tar.gz"
    files = {_PROGRAM: (folder / _PROGRAM).read_bytes(), "LICENSE": (source / "LICENSE").read_bytes()}
    write_archive(archive, files, epoch, programs={_PROGRAM})
    checksum = hashlib.sha256(archive.read_bytes()).hexdigest()
    manifest = _replaced_once(_KREW_COMMENT, "", (folder / f"{PROJECT}.yaml").read_text())
    manifest = _replaced_once(_KREW_CHECKSUM_LINE, f"    sha256: {checksum}", manifest)
    (built / f"{name}.yaml").write_text(manifest.replace(_DOWNLOADS, downloads.rstrip("/") or _DOWNLOADS))


def write_archive(path: Path, files: Mapping[str, bytes], epoch: int, programs: Collection[str] = ()) -> None:
    """A .tar.gz whose bytes depend on names, contents and `epoch` alone. `programs` are those files that can be run."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(files[name]), epoch, 0o755 if name in programs else 0o644
            archive.addfile(entry, io.BytesIO(files[name]))
    # Without a file name and a time in its header, which GzipFile would otherwise take from the path and the clock.
    with path.open("wb") as target, gzip.GzipFile("", "wb", 9, target, mtime=epoch) as compressed:
        compressed.write(plain.getvalue())


def _write_checksums(folder: Path) -> None:
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())]
    (folder / _CHECKSUMS).write_text("".join(lines))


def _replace(built: Path, output: Path) -> list[Path]:
    """Files of an earlier release would not be in SHA256SUMS: they go. Whatever else is in the folder stays."""
    output.mkdir(parents=True, exist_ok=True)
    for old in (*output.glob(f"{PROJECT}-*"), *output.glob(_CHECKSUMS)):
        old.unlink()
    names = sorted(path.name for path in built.iterdir() if path.name != _CHECKSUMS)
    return [Path(shutil.copy(built / name, output)) for name in (*names, _CHECKSUMS)]


def _check_clean(repository: Path) -> None:
    if changed := _git(repository, "status", "--porcelain").rstrip():
        raise ReleaseError(f"the working tree has changes that no commit has; commit or remove them first:\n{changed}")


def _check_digests(base_image: str, image_digest: str) -> None:
    if base_image and not _DIGEST.fullmatch(base_image.partition("@")[2]):
        raise ReleaseError(
            f"--base-image {base_image!r} can be moved: name it by digest, NAME[:TAG]@sha256:<64 hex digits>"
        )
    if image_digest and not _DIGEST.fullmatch(image_digest):
        raise ReleaseError(
            f"--image-digest {image_digest!r} is none: sha256:<64 hex digits>, as `docker push` prints it"
        )


def _replaced_once(pattern: re.Pattern[str], line: str, text: str) -> str:
    changed, count = pattern.subn(line, text)
    if count != 1:
        raise ReleaseError(f"{count} lines match {pattern.pattern!r}; one is needed to write {line!r} into")
    return changed


def _export(repository: Path, target: Path) -> None:
    """The files of the commit: nothing that is ignored or left over gets in."""
    packed = subprocess.run(["git", "archive", "--format=tar", "HEAD"], cwd=repository, capture_output=True, check=True)
    target.mkdir()
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(target, filter="data")


def _git(repository: Path, *arguments: str) -> str:
    try:
        return subprocess.run(["git", *arguments], cwd=repository, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        raise ReleaseError("git is not installed; a release is made from a commit") from None
    except subprocess.CalledProcessError as fault:
        raise ReleaseError(f"git {' '.join(arguments)}: {fault.stderr.strip()}") from None


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="make release", description="Build what is published from a clean commit.")
    parser.add_argument("--base-image", default="", help="of the image, by digest: python:3.13-slim@sha256:…")
    parser.add_argument("--image-digest", default="", help="of the pushed image, for the chart: sha256:…")
    parser.add_argument("--downloads", default="", help="where the files will be, for krew's manifest: https://…")
    parser.add_argument("--repository", default="", help="where the sources are, for links of the package: https://…")
    options = parser.parse_args(arguments)
    try:
        files = release(
            ROOT, ROOT / "dist", options.base_image, options.image_digest, options.downloads, options.repository
        )
    except ReleaseError as fault:
        sys.exit(f"release: {fault}")
    print(files[-1].read_text(), end="")
    if not options.base_image:
        print("release: the base image of the Dockerfile is a tag; --base-image names it by digest", file=sys.stderr)


if __name__ == "__main__":
    main()
