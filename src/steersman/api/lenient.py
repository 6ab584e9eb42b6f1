# SPDX-License-Identifier: Apache-2.0
"""Lenient reading: as much of an object as can be read; what is wrong in it is left out, field by field.

For objects that must not be overlooked although they cannot be read, such as pods that already run: `client.set_aside`.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from steersman.api import decode_errors, quantity
from steersman.api.codec import without_nulls
from steersman.api.meta import Object
from steersman.api.quantity_fields import Steps, quantities_in
from steersman.errors import InputError

T = TypeVar("T", bound=Object)

MOST_OMISSIONS: Final = 100
"""With more fields that are wrong there is nothing left to rely on."""


def readable_part(data: Any, cls: type[T]) -> T | None:
    """The object without the fields that cannot be read; None if nothing is left. `data` is changed."""
    data = without_nulls(data)
    for _ in range(MOST_OMISSIONS):
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
    """Takes the value at the steps away, or, where a step leads nowhere, what contains it."""
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
