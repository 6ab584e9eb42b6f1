# SPDX-License-Identifier: Apache-2.0
"""Lenient decoding: drops the invalid fields of an object.

For objects that must not be missed even if invalid, such as running pods: `client.invalid_objects`.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from steersman.api import decode_errors, quantity
from steersman.api.codec import without_nulls
from steersman.api.meta import Object
from steersman.api.quantity_fields import Steps, quantities_in
from steersman.base import InputError

T = TypeVar("T", bound=Object)

MAX_OMISSIONS: Final = 100
"""Maximum number of invalid fields; with more, an object is unusable."""


def readable_part(data: Any, cls: type[T]) -> T | None:
    """Return the object without invalid fields; None if it is unusable. Modifies `data`."""
    data = without_nulls(data)
    for _ in range(MAX_OMISSIONS):
        try:
            obj = msgspec.convert(data, cls)
        except msgspec.ValidationError as error:
            if not _omit(data, decode_errors.place(error, data)):
                return None
            continue
        unreadable = [steps for steps, amount in quantities_in(obj) if not _is_readable(amount)]
        if not unreadable:
            return obj
        for steps in reversed(unreadable):
            _omit(data, steps)
    return None


def _is_readable(amount: Any) -> bool:
    try:
        quantity.parse(amount)
    except InputError:
        return False
    return True


def _omit(data: Any, steps: Steps) -> bool:
    """Remove the value at the steps, or its container if a step does not exist."""
    if not steps:
        return False
    container = data
    for step in steps[:-1]:
        container = container[step]
    last = steps[-1]
    if last not in (container if isinstance(container, dict) else range(len(container))):
        return _omit(data, steps[:-1])
    del container[last]
    return True
