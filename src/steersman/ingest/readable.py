# SPDX-License-Identifier: Apache-2.0
"""The question of `ingest` to an object before anything is changed: that all of it can be read which is text in the API but a
number or a time to the scheduler.

Amounts of nodes and pods are not looked at here: `state` reads them before it changes anything.
"""

from __future__ import annotations

from operator import attrgetter

from steersman import api
from steersman.api import timestamps
from steersman.api.quantity_fields import check_readable
from steersman.errors import InputError, SteersmanError


def check(obj: api.Object) -> None:
    """Raise `InputError`, which names field and value, for an object other than a node or pod that cannot be used."""
    check_readable(obj)
    if isinstance(obj, api.DeviceClass):
        check_time(obj.metadata.creation_timestamp, "metadata.creationTimestamp")
    elif isinstance(obj, api.ResourceClaim) and obj.status.allocation is not None:
        check_time(obj.status.allocation.allocation_timestamp, "status.allocation.allocationTimestamp")


_spec_amounts = attrgetter("containers", "init_containers", "overhead", "resources")
_status_amounts = attrgetter("container_statuses", "init_container_statuses", "resources", "allocated_resources")


def same_amounts(old: api.Pod, new: api.Pod) -> bool:
    """Whether nothing has changed in the parts of a pod that name amounts: what could be read before can be read now."""
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
    """The error with the field of the amount that cannot be read, if it is about one."""
    if isinstance(error, InputError) and error.field is None:
        try:
            check_readable(obj)
        except InputError as named:
            return named
    return error
