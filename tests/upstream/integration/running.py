# SPDX-License-Identifier: Apache-2.0
"""Runs of upstream's integration test binaries, with the scheduler that they start themselves or with `steersman run`.

Every binary starts etcd and, for each test, a kube-apiserver in its own process. `exclusions.yaml` has the tests that need
Go plugins or the memory of kube-scheduler's process.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from tests.upstream.integration.building import TestBinaries
from tests.upstream.suite import PASSED, Spec, SuiteError

from steersman.config import SUPPORTED_VERSIONS
from steersman.testing.control_plane.binaries import assets_folder

EXCLUSIONS: Final = Path(__file__).with_name("exclusions.yaml")
EVERY_TEST: Final = "."
NEEDS: Final = "STEERSMAN_NEEDS "
"""Begins the message of a test that `steersman_process.go` skips."""
PACKAGE_SECONDS: Final = 3600.0
ATTEMPTS: Final = 3
"""A test has passed if one of this many attempts did: many of upstream's wait for less time than a busy machine needs."""
DONE: Final = (PASSED, "skipped")
_STATES: Final = {"PASS": PASSED, "FAIL": "failed", "SKIP": "skipped"}
_RESULT: Final = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+) \(([0-9.]+)s\)")
_CURRENT: Final = re.compile(r"^=== (?:RUN|NAME|CONT)\s+(\S+)")
_MESSAGE: Final = re.compile(
    r"^\s+\S+_test\.go:\d+: |^\s+(?:stepsframework|util|steersman_process|test_server)\.go:\d+: |^panic: |^F\d{4} "
)


class Exclusion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tests of one package that do not run with another scheduler than upstream's, and why."""

    reason: str
    #: Package below `test/integration/scheduler`; empty with `needs`.
    package: str = ""
    #: Patterns as for `go test -skip`; without any, the package is not built.
    tests: Sequence[str] = (EVERY_TEST,)
    #: Versions in which the row applies; without any, in all.
    versions: Sequence[str] = ()
    #: Pattern of the messages with which `steersman_process.go` skips tests.
    needs: str = ""

    @property
    def what(self) -> str:
        """Name what is excluded."""
        return f"needs {self.needs}" if self.needs else f"{self.package} {' '.join(self.tests)}"


def load_exclusions(version: str, path: Path = EXCLUSIONS) -> list[Exclusion]:
    """Read the rows that apply to a version."""
    rows = msgspec.yaml.decode(path.read_bytes(), type=list[Exclusion])
    return [row for row in rows if not row.versions or version in row.versions]


def skip_pattern(package: str, exclusions: Iterable[Exclusion]) -> str | None:
    """Return the pattern for `-test.skip`, or None if no test of the package can run."""
    patterns = [pattern for row in exclusions if row.package == package for pattern in row.tests]
    return None if EVERY_TEST in patterns else "|".join(patterns)


def without_excluded(specs: Iterable[Spec], exclusions: Iterable[Exclusion]) -> list[Spec]:
    """Leave out the tests that were skipped because of what they need, if a row gives the reason."""
    patterns = [re.escape(NEEDS) + row.needs for row in exclusions if row.needs]
    return [spec for spec in specs if not any(re.search(pattern, spec.message) for pattern in patterns)]


def run_package(binaries: TestBinaries, package: str, folder: Path, *, focus: str, skip: str, ours: bool) -> list[Spec]:
    """Run the tests of a package and repeat what has not passed; return one result for each test without subtests."""
    binary = binaries.build(package)
    latest: dict[str, Spec] = {}
    for attempt in range(1, ATTEMPTS + 1):
        done = [_exactly(spec.name) for spec in latest.values() if spec.state in DONE]
        skipped = "|".join(filter(None, [skip, *done]))
        ran = _run(binaries, binary, package, folder / f"attempt-{attempt}", focus, skipped, ours)
        latest |= {spec.name: spec for spec in ran}
        if all(spec.state in DONE for spec in ran):
            break
    parents = {spec.name.rpartition("/")[0] for spec in latest.values()}
    return sorted((spec for spec in latest.values() if spec.name not in parents), key=lambda spec: spec.name)


def _run(
    binaries: TestBinaries, binary: Path, package: str, folder: Path, focus: str, skip: str, ours: bool
) -> list[Spec]:
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        "nice",
        "-n",
        "10",
        str(binary),
        "-test.v",
        f"-test.timeout={int(PACKAGE_SECONDS)}s",
        f"-test.run={focus}",
    ]
    if skip:
        command.append(f"-test.skip={skip}")
    log = folder / "tests.log"
    with log.open("wb") as output:
        # Tests that fail make it end with 1; the log says which.
        subprocess.run(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=binaries.module / "scheduler" / package,
            env=_environment(folder, ours),
            timeout=PACKAGE_SECONDS + 60,
            check=False,
        )
    return results_in(log, package)


def results_in(log: Path, package: str) -> list[Spec]:
    """Read the results of tests without subtests from a verbose log. Raise `SuiteError` if there is none."""
    with log.open(errors="replace") as lines:
        specs = list(_results(lines, package))
    parents = {spec.name.rpartition("/")[0] for spec in specs}
    leaves = [spec for spec in specs if spec.name not in parents]
    if not leaves and not specs:
        raise SuiteError(f"{log}: no test of {package} ran to its end; the log says why")
    return leaves


def _results(lines: Iterable[str], package: str) -> Iterator[Spec]:
    messages: dict[str, list[str]] = defaultdict(list)
    current = ""
    ended = set()
    for line in lines:
        if found := _CURRENT.match(line):
            current = found[1]
            messages[current] = []
        elif found := _RESULT.match(line):
            ended.add(found[2])
            yield Spec(f"{package} {found[2]}", _STATES[found[1]], float(found[3]), "\n".join(messages[found[2]]))
        elif _MESSAGE.match(line):
            messages[current].append(line.strip())
    for name, said in messages.items():
        if name and name not in ended:
            yield Spec(f"{package} {name}", "interrupted", 0.0, "\n".join(said))


def _exactly(name: str) -> str:
    """Return the pattern of one test, whose name follows that of its package."""
    return "/".join(f"^{re.escape(part)}$" for part in name.split(" ", 1)[1].split("/"))


def _environment(folder: Path, ours: bool) -> dict[str, str]:
    etcd = assets_folder()
    environment = {**os.environ, "PATH": f"{etcd}:{os.environ['PATH']}", "STEERSMAN_FOLDER": str(folder.absolute())}
    if not ours:
        return environment
    versions = ",".join(map(str, SUPPORTED_VERSIONS))
    return environment | {"STEERSMAN_COMMAND": f"{sys.executable} -m steersman run", "STEERSMAN_VERSIONS": versions}
