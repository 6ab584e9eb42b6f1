# SPDX-License-Identifier: Apache-2.0
"""The `apiVersion` of every document that Steersman itself defines."""

from __future__ import annotations

from typing import Final

#: Documents printed by commands with `-o json` and `-o yaml`.
PLAN_VERSION: Final = "plan.steersman.dev/v1"
EXPLAIN_VERSION: Final = "explain.steersman.dev/v1"
HISTORY_VERSION: Final = "history.steersman.dev/v1"
REPLAY_VERSION: Final = "replay.steersman.dev/v1"
SHADOW_VERSION: Final = "shadow.steersman.dev/v1"

#: Documents written by users: kubelet policies, scenarios, sweeps and node pools.
POLICY_VERSION: Final = "steersman.dev/v1"
SCENARIO_VERSION: Final = "steersman.dev/v1alpha1"
SWEEP_VERSION: Final = "steersman.dev/v1alpha1"
POOLS_VERSION: Final = "steersman.dev/v1alpha1"
#: The journal of a sweep, which `sweep --resume` reads.
JOURNAL_VERSION: Final = "steersman.dev/v1alpha1"


def former_version(version: str) -> str:
    """Return the form with two slashes written by releases up to 0.1: `steersman.dev/plan/v1`."""
    group, _, number = version.partition("/")
    name, _, domain = group.partition(".")
    return f"{domain}/{name}/{number}"


def version_schema(version: str) -> dict[str, list[str]]:
    """Return the JSON schema of the `apiVersion` of a printed document; it accepts the former
    version too."""
    return {"enum": [version, former_version(version)]}
