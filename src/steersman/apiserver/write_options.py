# SPDX-License-Identifier: Apache-2.0
"""The options of a write, besides the object: dry run, validation of fields, its name as a manager of fields, and how
something is to be deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from steersman.apiserver.resources import Resource
from steersman.apiserver.statuses import bad_request, invalid
from steersman.embedded import Document, Propagation

IGNORE: Final = "Ignore"
WARN: Final = "Warn"
STRICT: Final = "Strict"
_PROPAGATION: Final = ("Background", "Foreground", "Orphan")
_LONGEST_MANAGER: Final = 128


class WriteOptions(msgspec.Struct, frozen=True):
    """The options of a creation, update or patch. `field_validation`: `Ignore`, `Warn` or `Strict`. `is_forced`: an apply takes
    fields from others."""

    is_dry_run: bool = False
    field_validation: str = WARN
    field_manager: str = ""
    is_forced: bool = False
    #: Who has set which fields is noted; an apply has done so already.
    tracks_fields: bool = True
    #: Fields that an update must not change are looked at; a subresource lets through what only it may change.
    checks_immutable_fields: bool = True


class DeleteOptions(msgspec.Struct, frozen=True):
    """The options of a deletion or eviction; "" and None leave it to the object."""

    is_dry_run: bool = False
    grace_period_seconds: int | None = None
    propagation: Propagation | None = None
    uid: str = ""
    resource_version: str = ""


def write_options(resource: Resource, query: Mapping[str, str], user_agent: str = "") -> WriteOptions:
    """Made of the query of a request; a manager of fields without a name is called as the client calls itself."""
    validation = query.get("fieldValidation", "") or WARN
    if validation not in (IGNORE, WARN, STRICT):
        supported = f'"", "{IGNORE}", "{STRICT}", "{WARN}"'
        raise _unsupported(resource, "fieldValidation", validation, supported)
    manager = query.get("fieldManager", "") or user_agent.partition("/")[0]
    force = query.get("force", "").lower() in ("true", "1")
    return WriteOptions(_dry_run(resource, query.get("dryRun", "")), validation, manager[:_LONGEST_MANAGER], force)


def delete_options(resource: Resource, query: Mapping[str, str], body: Document) -> DeleteOptions:
    """Made of a `DeleteOptions` object in the body, or of the query."""
    dry_run = body.get("dryRun") or [query.get("dryRun", "")]
    period: Any = body.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
    orphans: Any = body.get("orphanDependents", query.get("orphanDependents"))
    policy: Any = body.get("propagationPolicy") or query.get("propagationPolicy") or None
    if policy is None and orphans is not None:
        policy = "Orphan" if orphans in (True, "true") else "Background"
    if policy is not None and policy not in _PROPAGATION:
        supported = '"Background", "Foreground", "Orphan", "nil"'
        raise _unsupported(resource, "propagationPolicy", policy, supported)
    preconditions = body.get("preconditions") or {}
    return DeleteOptions(
        any(_dry_run(resource, str(value)) for value in dry_run),
        _seconds(period),
        cast("Propagation | None", policy),
        str(preconditions.get("uid") or ""),
        str(preconditions.get("resourceVersion") or ""),
    )


def _seconds(period: Any) -> int | None:
    if period is None or isinstance(period, int):
        return period
    if isinstance(period, str) and period.lstrip("-").isdecimal() and len(period) < 20:
        return int(period)
    raise bad_request(f"gracePeriodSeconds: Invalid value: {period!r}: use a number of seconds")


def _dry_run(resource: Resource, value: str) -> bool:
    if value not in ("", "All"):
        raise _unsupported(resource, "dryRun", value, '"All"')
    return value == "All"


def _unsupported(resource: Resource, field: str, value: object, supported: str) -> Exception:
    return invalid(resource, "", [f'{field}: Unsupported value: "{value}": supported values: {supported}'])
