# SPDX-License-Identifier: Apache-2.0
"""Field errors of expressions in ResourceClaims, ResourceClaimTemplates and DeviceClasses.

`api.validation.devices` has the other rules of these kinds; it is in a lower layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api.cel.selector import compiled_selector
from steersman.api.json_values import Document, elements, group_kind, part
from steersman.api.validation.field_errors import FieldError

_GROUP: Final = "resource.k8s.io"
_MAX: Final = 10 * 1024


def find_selector_errors(document: Document) -> Iterator[FieldError]:
    """Yield errors of expressions; too long ones are not compiled."""
    group, kind = group_kind(document)
    if group != _GROUP:
        return
    if kind == "DeviceClass":
        yield from _selectors("spec.selectors", part(document, "spec"))
    elif kind in ("ResourceClaim", "ResourceClaimTemplate"):
        steps = ("spec", "devices") if kind == "ResourceClaim" else ("spec", "spec", "devices")
        for index, request in enumerate(elements(document, *steps, "requests")):
            path, alternatives = f"{'.'.join(steps)}.requests[{index}]", elements(request, "firstAvailable")
            if not alternatives:
                yield from _selectors(f"{path}.exactly.selectors", part(request, "exactly"))
            elif request.get("exactly") is None:
                for position, alternative in enumerate(alternatives):
                    yield from _selectors(f"{path}.firstAvailable[{position}].selectors", alternative)


def _selectors(path: str, holder: Mapping[str, Any]) -> Iterator[FieldError]:
    for index, selector in enumerate(elements(holder, "selectors")):
        expression = part(selector, "cel").get("expression") or ""
        if selector.get("cel") is None or len(expression.encode()) > _MAX:
            continue
        error = compiled_selector(expression, list_type_attributes=False).error
        if error is not None:
            yield FieldError.invalid(f"{path}[{index}].cel.expression", expression, error)
