# SPDX-License-Identifier: Apache-2.0
"""Checks that quantities and times of an object can be parsed, before `ingest` changes anything.

Amounts of nodes and pods are not checked here: `state` parses them before it changes anything.
"""

from __future__ import annotations

from operator import attrgetter

from steersman import api
from steersman.api import check_readable, timestamps
from steersman.base import InputError, SteersmanError


def check(obj: api.Object) -> None:
    """Raise `InputError` with field and value for an invalid object other than a node or pod."""
    check_readable(obj)
    if isinstance(obj, api.DeviceClass | api.AnyPodGroup):
        check_time(obj.metadata.creation_timestamp, "metadata.creationTimestamp")
    elif isinstance(obj, api.ResourceClaim) and obj.status.allocation is not None:
        check_time(obj.status.allocation.allocation_timestamp, "status.allocation.allocationTimestamp")


_spec_amounts = attrgetter("containers", "init_containers", "overhead", "resources")
_status_amounts = attrgetter("container_statuses", "init_container_statuses", "resources", "allocated_resources")


def same_amounts(old: api.Pod, new: api.Pod) -> bool:
    """Return whether the fields of a pod with amounts are unchanged, so that they need not be
    checked again."""
    return bool(
        _spec_amounts(old.spec) == _spec_amounts(new.spec)
        and _status_amounts(old.status) == _status_amounts(new.status)
    )


def check_time(text: str | None, field: str) -> None:
    if text is not None:
        try:
            timestamps.parse(text)
        except InputError as error:
            raise error.located(field=field) from error


def located(error: SteersmanError, obj: api.Object) -> SteersmanError:
    """Return the error with the field of the invalid amount, if the error concerns an amount."""
    if isinstance(error, InputError) and error.field is None:
        try:
            check_readable(obj)
        except InputError as named:
            return named
    return error
