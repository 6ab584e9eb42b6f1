# SPDX-License-Identifier: Apache-2.0
"""Options of writes: dry run, field validation, field manager, and deletion options."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from steersman.cluster.apiserver.patches import APPLY_PATCH
from steersman.cluster.apiserver.reviews import TokenUser
from steersman.cluster.apiserver.statuses import bad_request, invalid_options
from steersman.cluster.store import Document, Propagation

IGNORE: Final = "Ignore"
WARN: Final = "Warn"
STRICT: Final = "Strict"
_PROPAGATION: Final = ("Background", "Foreground", "Orphan")
_MAX_MANAGER: Final = 128
_DELETE_OPTIONS: Final = "DeleteOptions"
SCHEME: Final = "pkg/runtime/scheme.go:111"
"""Upstream's name of its scheme, in messages about unregistered kinds."""


class WriteOptions(msgspec.Struct, frozen=True):
    """Options of a create, update or patch. `field_validation` is `Ignore`, `Warn` or `Strict`.
    With `is_forced`, an apply takes fields from other managers."""

    is_dry_run: bool = False
    field_validation: str = WARN
    field_manager: str = ""
    is_forced: bool = False
    #: Whether to update managed fields; False for an apply, which has already done so.
    tracks_fields: bool = True
    #: Subresource whose rules apply, if it writes part of the whole object.
    rules_of: str = ""
    #: User passed to policies and webhooks.
    user: TokenUser | None = None


class DeleteOptions(msgspec.Struct, frozen=True):
    """Options of a deletion or eviction; "" and None select the object's default."""

    is_dry_run: bool = False
    grace_period_seconds: int | None = None
    propagation: Propagation | None = None
    uid: str = ""
    resource_version: str = ""
    user: TokenUser | None = None


def write_options(
    kind: str, query: Mapping[str, str], user_agent: str = "", patch_type: str = "", user: TokenUser | None = None
) -> WriteOptions:
    """Parse the query of a request into options of `kind`. Except for apply, the default field
    manager is the client's name in `User-Agent`. Raises 422."""
    validation, manager = query.get("fieldValidation", "") or WARN, query.get("fieldManager", "")
    dry_run = [query["dryRun"]] if "dryRun" in query else []
    problems = [*_patch_problems(query, patch_type), *_manager_problems(manager), *_dry_run_problems(dry_run)]
    if validation not in (IGNORE, WARN, STRICT):
        supported = f'"", "{IGNORE}", "{STRICT}", "{WARN}"'
        problems.append(f'fieldValidation: Unsupported value: "{validation}": supported values: {supported}')
    if problems:
        raise invalid_options(kind, problems)
    manager = manager or user_agent.partition("/")[0][:_MAX_MANAGER]
    is_forced = query.get("force", "").lower() in ("true", "1")
    return WriteOptions(bool(dry_run), validation, manager, is_forced, user=user)


def _patch_problems(query: Mapping[str, str], patch_type: str) -> Iterator[str]:
    if patch_type == APPLY_PATCH and not query.get("fieldManager"):
        yield "fieldManager: Required value: is required for apply patch"
    elif patch_type and patch_type != APPLY_PATCH and "force" in query:
        yield "force: Forbidden: may not be specified for non-apply patch"


def _manager_problems(manager: str) -> Iterator[str]:
    if len(manager.encode()) > _MAX_MANAGER:
        yield f"fieldManager: Too long: may not be more than {_MAX_MANAGER} bytes"
    for position, letter in enumerate(manager):
        if not letter.isprintable():
            shown = json.dumps(manager).replace("\\u00", "\\x")
            yield f"fieldManager: Invalid value: {shown}: invalid character U+{ord(letter):04X} (at position {position})"


def _dry_run_problems(values: Sequence[object]) -> Iterator[str]:
    if any(value != "All" for value in values):
        yield f'dryRun: Unsupported value: {json.dumps(values)}: supported values: "All"'


def delete_options(query: Mapping[str, str], body: Document, user: TokenUser | None = None) -> DeleteOptions:
    """Parse the `DeleteOptions` in the body, or the query. Raises 400 and 422."""
    if body.get("kind", _DELETE_OPTIONS) != _DELETE_OPTIONS:
        version = body.get("apiVersion", "")
        raise bad_request(f'no kind "{body["kind"]}" is registered for version "{version}" in scheme "{SCHEME}"')
    dry_run = body.get("dryRun") or ([query["dryRun"]] if "dryRun" in query else [])
    problems = [*_dry_run_problems(dry_run)]
    period: Any = body.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
    orphans: Any = body.get("orphanDependents", query.get("orphanDependents"))
    policy: Any = body.get("propagationPolicy") or query.get("propagationPolicy") or None
    if policy is not None and orphans is not None:
        both = "orphanDependents and deletionPropagation cannot be both set"
        problems.append(f'propagationPolicy: Invalid value: "{policy}": {both}')
    if policy is None and orphans is not None:
        policy = "Orphan" if orphans in (True, "true") else "Background"
    if policy is not None and policy not in _PROPAGATION:
        supported = '"Foreground", "Background", "Orphan", "nil"'
        problems.append(f'propagationPolicy: Unsupported value: "{policy}": supported values: {supported}')
    if problems:
        raise invalid_options(_DELETE_OPTIONS, problems)
    preconditions = body.get("preconditions") or {}
    return DeleteOptions(
        bool(dry_run),
        _seconds(period),
        cast("Propagation | None", policy),
        str(preconditions.get("uid") or ""),
        str(preconditions.get("resourceVersion") or ""),
        user,
    )


def _seconds(period: Any) -> int | None:
    if period is None or isinstance(period, int):
        return period
    if isinstance(period, str) and period.removeprefix("-").isdecimal() and len(period) < 20:
        return int(period)
    raise bad_request(f'strconv.ParseInt: parsing "{period}": invalid syntax')
