# SPDX-License-Identifier: Apache-2.0
"""The documents that Steersman itself defines: the `apiVersion` of each, their JSON schemas, and
the base class of structs that become documents."""

from __future__ import annotations

from typing import Any, Final

import msgspec

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


SCHEMA_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class PlainStruct(msgspec.Struct, frozen=True):
    """Base of structs that programs read as plain values."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain lists, dicts and values."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


def former_version(version: str) -> str:
    """Return the form with two slashes written by releases up to 0.1: `steersman.dev/plan/v1`."""
    group, _, number = version.partition("/")
    name, _, domain = group.partition(".")
    return f"{domain}/{name}/{number}"


def version_schema(version: str) -> dict[str, list[str]]:
    """Return the JSON schema of the `apiVersion` of a printed document; it accepts the former
    version too."""
    return {"enum": [version, former_version(version)]}


def document_schema(struct: type[msgspec.Struct], version: str, kind: str) -> dict[str, Any]:
    """Return the JSON schema of a printed document: `apiVersion`, `kind` and the struct's
    fields."""
    (reference,), components = msgspec.json.schema_components([struct], ref_template="#/$defs/{name}")
    own = components.pop(reference["$ref"].rpartition("/")[2])
    header = {"apiVersion": version_schema(version), "kind": {"const": kind}}
    return {
        "$schema": SCHEMA_DIALECT,
        "title": kind,
        "description": own.get("description", ""),
        "type": "object",
        "properties": {**header, **own["properties"]},
        "required": ["apiVersion", "kind", *own["properties"]],
        "additionalProperties": False,
        **({"$defs": components} if components else {}),
    }
