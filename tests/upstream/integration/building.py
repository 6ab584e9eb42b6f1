# SPDX-License-Identifier: Apache-2.0
"""Upstream's integration test binaries, built below the cache folder with `steersman_process.go` among their files.

`go build -overlay` refuses to replace files of the module cache. So the test packages, `util` and `framework` are copied
into a generated module, with changed import paths; everything else comes from the pinned modules of
`scripts/control_plane`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from steersman.base import KUBE_SCHEDULER_RELEASES
from steersman.base.errors import SteersmanError
from steersman.testing.control_plane.binaries import cache_folder

PACKAGES: Final = "test/integration/scheduler"
SEAM: Final = Path(__file__).with_name("steersman_process.go")
_MODULES: Final = Path(__file__).parents[3] / "scripts" / "control_plane"
_MODULE: Final = "steersman/upstream-integration"
_UPSTREAM: Final = "k8s.io/kubernetes"
_UTIL: Final = "test/integration/util"
_FRAMEWORK: Final = "test/integration/framework"
_CHANGES: Final = {
    # Makes room for the function in `steersman_process.go`.
    "func InitTestSchedulerWithOptions(": "func initInProcessScheduler(",
    # Time for a kube-apiserver to start: a busy machine needs more.
    "wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 10*time.Second,": (
        "wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 120*time.Second,"
    ),
}


class BuildError(SteersmanError):
    """Error: a test binary could not be built."""


class TestBinaries(msgspec.Struct, frozen=True):
    """Generated module of one version, and the binaries of its packages."""

    __test__ = False

    version: str
    #: Folder of the generated module.
    module: Path
    #: Folder of `k8s.io/kubernetes` in Go's module cache.
    source: Path

    @classmethod
    def prepare(cls, version: str) -> TestBinaries:
        """Write the generated module of a version such as `1.37`, if it changed."""
        source = _kubernetes_source(version)
        module = cache_folder() / "upstream-integration" / KUBE_SCHEDULER_RELEASES[version]
        binaries = cls(version, module, source)
        binaries._write_module()
        return binaries

    @property
    def packages(self) -> list[str]:
        """Names of packages with tests, relative to `test/integration/scheduler`; `.` is that package itself."""
        top = self.source / PACKAGES
        return sorted({str(path.parent.relative_to(top)) for path in top.rglob("*_test.go")})

    def build(self, package: str) -> Path:
        """Build the test binary of a package unless it is there."""
        binary = self.module / "bin" / f"{package.replace('/', '-').strip('.') or 'scheduler'}.{self._stamp}.test"
        if binary.exists():
            return binary
        for old in binary.parent.glob(f"{binary.name.split('.')[0]}.*.test"):
            old.unlink()
        self._compile(package, binary)
        return binary

    def _compile(self, package: str, binary: Path) -> None:
        unfinished = binary.with_suffix(f".{os.getpid()}")
        # The same flags as in scripts/control_plane/build.sh, so that Go's build cache has most packages.
        flags = [
            "-mod=mod",
            "-vet=off",
            "-buildvcs=false",
            "-trimpath",
            "-ldflags",
            f"-s -w {_version_flags(self.version)}",
        ]
        command = [
            "nice",
            "-n",
            "15",
            "go",
            "test",
            "-c",
            *flags,
            "-o",
            str(unfinished),
            f"{_MODULE}/scheduler/{package}",
        ]
        ran = subprocess.run(command, cwd=self.module, env={**os.environ, "CGO_ENABLED": "0"}, check=False)
        if ran.returncode:
            raise BuildError(f"{package}: upstream's integration tests of v{self.version} could not be built")
        unfinished.rename(binary)

    def _write_module(self) -> None:
        if (self.module / "stamp").exists() and (self.module / "stamp").read_text() == self._stamp:
            return
        shutil.rmtree(self.module, ignore_errors=True)
        (self.module / "bin").mkdir(parents=True)
        pinned = _MODULES / f"v{self.version}"
        go_mod = (pinned / "go.mod").read_text()
        (self.module / "go.mod").write_text(re.sub(r"(?m)^module .*$", f"module {_MODULE}", go_mod))
        shutil.copy(pinned / "go.sum", self.module / "go.sum")
        for path in sorted((self.source / PACKAGES).rglob("*.go")):
            self._copy(path, self.module / "scheduler" / path.relative_to(self.source / PACKAGES))
        for folder in (_UTIL, _FRAMEWORK):
            for path in sorted((self.source / folder).glob("*.go")):
                self._copy(path, self.module / Path(folder).name / path.name)
        shutil.copy(SEAM, self.module / "util" / SEAM.name)
        (self.module / "stamp").write_text(self._stamp)

    def _copy(self, path: Path, target: Path) -> None:
        text = path.read_text()
        for folder in (PACKAGES, _UTIL, _FRAMEWORK):
            text = text.replace(f'"{_UPSTREAM}/{folder}', f'"{_MODULE}/{Path(folder).name}')
        for old, new in _CHANGES.items():
            text = text.replace(old, new)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    @property
    def _stamp(self) -> str:
        pinned = _MODULES / f"v{self.version}" / "go.mod"
        content = b"".join(path.read_bytes() for path in (SEAM, Path(__file__), pinned))
        return hashlib.sha256(content).hexdigest()[:12]


def _kubernetes_source(version: str) -> Path:
    command: Sequence[str] = ("go", "mod", "download", "-json", _UPSTREAM)
    ran = subprocess.run(command, cwd=_MODULES / f"v{version}", capture_output=True, text=True, check=False)
    if ran.returncode:
        raise BuildError(f"the Go module {_UPSTREAM} of v{version} could not be downloaded: {ran.stderr.strip()}")
    return Path(json.loads(ran.stdout)["Dir"])


def _version_flags(version: str) -> str:
    stamp = "k8s.io/component-base/version"
    major, minor = version.split(".")
    release = KUBE_SCHEDULER_RELEASES[version]
    return f"-X {stamp}.gitVersion={release} -X {stamp}.gitMajor={major} -X {stamp}.gitMinor={minor}"
