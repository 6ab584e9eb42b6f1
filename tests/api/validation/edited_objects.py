# SPDX-License-Identifier: Apache-2.0
"""Valid objects, changes of single fields, and the errors that validation finds then.

The expected errors of the tables that use this are recorded answers of kube-apiserver v1.36.4.
"""

from __future__ import annotations

import copy
import re
from typing import Any, TypeAlias

from steersman.api.defaults import with_default_fields
from steersman.api.validation import validate, validate_update
from steersman.api.validation.metadata import validate_metadata
from steersman.cluster.apiserver.prepared_fields import prepared

Json: TypeAlias = dict[str, Any]
Changes: TypeAlias = dict[str, Any]
"""Values by field path: `spec.ports[0].port`; `...` removes the field, `spec.ports[+]` appends to a list."""
NOW = "2026-01-01T00:00:00Z"


def edited(document: Json, changes: Changes) -> Json:
    """Return a copy with changes."""
    result = copy.deepcopy(document)
    for path, value in changes.items():
        *parents, last = [
            int(step) if step.isdecimal() else step for step in re.findall(r"[^.\[\]]+", path.replace("[+]", ".+"))
        ]
        holder: Any = result
        for step in parents:
            holder = holder[step] if isinstance(step, int) else holder.setdefault(step, {})
        if value is ...:
            del holder[last]
        elif last == "+":
            holder.append(value)
        else:
            holder[last] = value
    return result


def errors(document: Json, changes: Changes) -> list[str]:
    """Return the errors of creating an object with changes."""
    new = prepared(with_default_fields(edited(document, changes)), None, NOW)
    return [str(error) for error in (*validate_metadata(new, None), *validate(new))]


def update_errors(document: Json, changes: Changes) -> list[str]:
    """Return the distinct errors of changing a stored object."""
    old = prepared(with_default_fields(document), None, NOW)
    new = prepared(with_default_fields(edited(old, changes)), old, NOW)
    found = (*validate_metadata(new, old), *validate_update(new, old))
    return list(dict.fromkeys(map(str, found)))
