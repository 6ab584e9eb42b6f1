# SPDX-License-Identifier: Apache-2.0
"""Runs of upstream's e2e.test, and the result of each spec: scheduling specs on a control plane with one scheduler.

`sandbox_conformance` runs other specs on a sandbox.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from tests.upstream.fake_kubelets import FakeKubelets

from steersman.base.errors import SteersmanError
from steersman.testing.control_plane import (
    Binaries,
    ControlPlane,
    KubeControllerManager,
    KubeScheduler,
    Steersman,
)
from steersman.testing.control_plane.binaries import E2E_TEST

FOCUS: Final = r"\[sig-scheduling\]"
SKIP: Final = r"\[Feature:OffByDefault\]"
"""Specs of features that a default cluster does not have."""
ATTEMPTS: Final = 3
"""A spec has passed if one of so many attempts did: some of upstream's look for a condition a moment after an event."""
NODES: Final = 4
SUITE_SECONDS: Final = 3600.0
SCHEDULERS: Final[dict[str, type[KubeScheduler] | type[Steersman]]] = {
    "kube-scheduler": KubeScheduler,
    "steersman": Steersman,
}
PASSED: Final = "passed"
SKIPPED: Final = ("skipped", "pending")
_PATIENT: Final = ("--node-monitor-grace-period=24h",)
"""Nobody sends heartbeats."""


class SuiteError(SteersmanError):
    """The suite did not run to its end."""


class Spec(msgspec.Struct, frozen=True):
    """One test of the suite."""

    name: str
    #: `passed`, `failed`, `skipped`, `pending`, `timedout`, `panicked`, `interrupted`.
    state: str
    seconds: float
    #: What a failed one said, and why one was skipped.
    message: str = ""


def run_suite(binaries: Binaries, scheduler: str, folder: Path, focus: str = FOCUS, skip: str = SKIP) -> list[Spec]:
    """Starts control plane, controllers, kubelets and the scheduler, and runs the specs whose names match `focus`."""
    program = binaries.program(E2E_TEST)
    with (
        ControlPlane(binaries, folder, disabled_admission=()) as plane,
        KubeControllerManager(plane, flags=_PATIENT),
        FakeKubelets(plane.admin, NODES),
        SCHEDULERS[scheduler](plane),
    ):
        flags = ("--dump-logs-on-failure=false", f"--ginkgo.flake-attempts={ATTEMPTS}")
        return specs_in(run_specs(program, plane.kubeconfig(), folder, focus, skip, flags))


def specs_in(report: Path) -> list[Spec]:
    """The specs of a JSON report of Ginkgo that were chosen by the focus, by name; raises `SuiteError`."""
    if not report.exists():
        raise SuiteError(f"{report}: upstream's suite left no report; e2e.log beside it says why")
    specs = [_spec(found) for found in _spec_reports(report)]
    chosen = [spec for spec in specs if spec is not None]
    if not chosen:
        raise SuiteError(f"{report}: upstream's suite ran no spec; e2e.log beside it says why")
    return sorted(chosen, key=lambda spec: spec.name)


def unselected_names(report: Path, group: str) -> list[str]:
    """Return the names of specs in a JSON report that match `group` and were not selected to run."""
    found = (msgspec.convert(one, _Report, strict=False) for one in _spec_reports(report))
    return sorted(spec.name for spec in found if spec.is_unselected and re.search(group, spec.name))


def worse_than(reference: Sequence[Spec], found: Sequence[Spec]) -> list[str]:
    """Names of specs that passed in the reference run and did not pass, or did not run, in the other."""
    passed = {spec.name for spec in found if spec.state == PASSED}
    return [spec.name for spec in reference if spec.state == PASSED and spec.name not in passed]


def run_specs(program: Path, kubeconfig: Path, folder: Path, focus: str, skip: str, flags: Sequence[str] = ()) -> Path:
    """Run e2e.test with its working directory in `folder`, and return the path of its JSON report."""
    report = folder / "report.json"
    command = [
        str(program),
        f"--kubeconfig={kubeconfig}",
        "--provider=skeleton",
        f"--num-nodes={NODES}",
        f"--ginkgo.focus={focus}",
        *([f"--ginkgo.skip={skip}"] if skip else []),
        f"--ginkgo.json-report={report}",
        f"--ginkgo.timeout={int(SUITE_SECONDS)}s",
        "--ginkgo.no-color",
        "--ginkgo.v",
        *flags,
    ]
    with (folder / "e2e.log").open("wb") as log:
        # Specs that fail make it end with 1; the report says which.
        subprocess.run(
            command, stdout=log, stderr=subprocess.STDOUT, cwd=folder, timeout=SUITE_SECONDS + 60, check=False
        )
    return report


def _spec_reports(report: Path) -> list[dict[str, object]]:
    return [found for suite in json.loads(report.read_text()) for found in suite["SpecReports"] or ()]


def _spec(report: dict[str, object]) -> Spec | None:
    """Return None for the set-up of the suite and for specs that were not selected."""
    found = msgspec.convert(report, _Report, strict=False)
    if found.kind != "It" or found.is_unselected:
        return None
    return Spec(found.name, found.state, found.nanoseconds / 1e9, found.failure.message)


class _Failure(msgspec.Struct, frozen=True):
    message: str = msgspec.field(default="", name="Message")


class _Report(msgspec.Struct, frozen=True):
    """What we read of a spec in Ginkgo's report."""

    kind: str = msgspec.field(name="LeafNodeType")
    text: str = msgspec.field(name="LeafNodeText")
    state: str = msgspec.field(name="State")
    nanoseconds: int = msgspec.field(default=0, name="RunTime")
    hierarchy: list[str] | None = msgspec.field(default=None, name="ContainerHierarchyTexts")
    failure: _Failure = msgspec.field(default=_Failure(), name="Failure")

    @property
    def name(self) -> str:
        return " ".join([*(self.hierarchy or []), self.text])

    @property
    def is_unselected(self) -> bool:
        """Whether focus or skip left the spec out: Ginkgo reports it as skipped, without a message."""
        return self.kind == "It" and self.state == "skipped" and not self.failure.message
