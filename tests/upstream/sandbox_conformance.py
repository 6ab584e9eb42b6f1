# SPDX-License-Identifier: Apache-2.0
"""Upstream's conformance specs of [sig-api-machinery] and [sig-apps] on a sandbox.

`make sandbox-conformance` runs them all, except those in `EXCLUSIONS` and `UNSUPPORTED`. Each group runs on a sandbox of
its own, at the same time. `sandbox_policy.yaml` describes the behaviour of containers that specs rely on, such as the exit
code of a Job.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec
from tests.sandbox.sandbox_process import SandboxProcess
from tests.upstream.suite import NODES, PASSED, Spec, run_specs, specs_in, unselected_names

from steersman.testing.control_plane import Binaries
from steersman.testing.control_plane.binaries import E2E_TEST, KUBECTL

GROUPS: Final = ("sig-api-machinery", "sig-apps")
EXCLUSIONS: Final[Mapping[str, str]] = {
    r"AdmissionWebhook|CustomResourceConversionWebhook|CustomResourceFieldSelectors": "calls a webhook that runs in a pod",
    r"Aggregator Should": "runs an aggregated API server in a pod",
    r"should serve a basic image": "sends HTTP requests to containers",
    r"Scaling should happen|Burst scaling|rolling updates and roll backs": "breaks readiness probes with exec",
    r"DisruptionTarget condition": "containers read files that earlier containers wrote",
}
"""Pattern of spec names, and the reason why a cluster without containers cannot run them."""
UNSUPPORTED: Final[Mapping[str, str]] = {
    r"should mutate a Deployment": "mutating admission policies are not evaluated",
    r"original version has been compacted away": "history is limited by writes, not by time",
}
"""Pattern of spec names that fail after minutes, and what the sandbox lacks; they are not run and count as not passed."""
POLICY: Final = Path(__file__).with_name("sandbox_policy.yaml")


class GroupResult(msgspec.Struct, frozen=True):
    """Results of the specs of one group."""

    group: str
    specs: Sequence[Spec]
    #: Names of the specs that a cluster without containers cannot run.
    excluded: Sequence[str]
    #: Names of the specs that need what a sandbox lacks.
    unsupported: Sequence[str]

    @property
    def failed(self) -> list[Spec]:
        return [spec for spec in self.specs if spec.state != PASSED]


def run_groups(binaries: Binaries, folder: Path, groups: Sequence[str] = GROUPS, focus: str = "") -> list[GroupResult]:
    """Run the specs of each group whose names match `focus`, all groups at the same time."""
    with ThreadPoolExecutor(len(groups)) as pool:
        return list(pool.map(lambda group: run_group(binaries, folder / group, group, focus), groups))


def run_group(binaries: Binaries, folder: Path, group: str, focus: str = "") -> GroupResult:
    """Run the specs of one group whose names match `focus` on a new sandbox; write logs and reports to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    flags = (f"--kubectl-path={binaries.program(KUBECTL)}", "--dump-logs-on-failure=false")
    options = ("--nodes", str(NODES), "--no-web", "--kubelet-policy", str(POLICY))
    with SandboxProcess(folder, *options) as sandbox:
        skip = "|".join((*EXCLUSIONS, *UNSUPPORTED))
        program = binaries.program(E2E_TEST)
        report = run_specs(program, sandbox.kubeconfig, folder, _focus(group, focus), skip, flags)
    left_out = unselected_names(report, _focus(group, focus))
    excluded = [name for name in left_out if reason_for(name, EXCLUSIONS)]
    unsupported = [name for name in left_out if reason_for(name, UNSUPPORTED) and name not in excluded]
    return GroupResult(group, specs_in(report), excluded, unsupported)


def reason_for(name: str, reasons: Mapping[str, str]) -> str:
    """Return the reason for which the spec is left out; empty if none applies."""
    return next((reason for pattern, reason in reasons.items() if re.search(pattern, name)), "")


def render(results: Sequence[GroupResult]) -> str:
    """Return a line for each spec with its result or the reason for its exclusion, and the totals of each group."""
    lines = []
    for result in results:
        lines += [f"{spec.state:<9}{spec.name}" for spec in result.specs]
        lines += [f"lacking  {name}: {reason_for(name, UNSUPPORTED)}" for name in result.unsupported]
        lines += [f"excluded {name}: {reason_for(name, EXCLUSIONS)}" for name in result.excluded]
    for result in results:
        passed, total = len(result.specs) - len(result.failed), len(result.specs) + len(result.unsupported)
        lines.append(f"[{result.group}] {passed} of {total} specs passed, {len(result.excluded)} excluded")
    return "\n".join(lines)


def _focus(group: str, focus: str) -> str:
    return rf"\[{group}\].*(?:{focus}).*\[Conformance\]"
