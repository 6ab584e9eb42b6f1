# SPDX-License-Identifier: Apache-2.0
"""Unknown kinds and versions: misspelt, removed from Kubernetes, or served with a feature gate
only."""

from __future__ import annotations

from functools import cache

from steersman.api.added_definitions import ADDED_IN, GATES_OF_KINDS
from steersman.api.schemas import definition_names
from steersman.api.unknown_fields import closest
from steersman.base import InputError


def unknown_kind(api_version: str, kind: str) -> InputError | None:
    """Return the error for an unknown kind; None for built-in kinds and custom resources."""
    gate = GATES_OF_KINDS.get((api_version, kind))
    if gate is not None:
        flags = f"give --emulated-version={ADDED_IN} and --feature-gates={_gates_for(gate)}"
        return InputError(f"is served only with the feature gate {gate}", field="kind", value=kind, hint=flags)
    group = api_version.rpartition("/")[0]
    if (api_version, kind) in definition_names() or ("." in group and group not in _built_in_groups()):
        return None
    versions = _versions_of(kind)
    if not versions:
        meant = closest(kind, {known for _, known in definition_names()})
        hint = f'did you mean "{meant}"?' if meant else None
        return InputError("is not a kind of Kubernetes", field="kind", value=kind, hint=hint)
    hint = f'use "{min(versions, key=_age)}"'
    if not api_version:
        return None
    return InputError(f"has no {kind}", field="apiVersion", value=api_version, hint=hint)


def _gates_for(gate: str) -> str:
    """Return the flag value with the gate and those that it needs."""
    needed = {"CompositePodGroup": ("GenericWorkload", "TopologyAwareWorkloadScheduling")}
    return ",".join(f"{name}=true" for name in (*needed.get(gate, ()), gate))


@cache
def _built_in_groups() -> frozenset[str]:
    return frozenset(version.rpartition("/")[0] for version, _ in definition_names())


def _versions_of(kind: str) -> list[str]:
    return [version for version, known in definition_names() if known == kind]


def _age(api_version: str) -> tuple[bool, bool, str]:
    """Return a sort key with stable versions first."""
    version = api_version.rpartition("/")[2]
    return "alpha" in version, "beta" in version, api_version
