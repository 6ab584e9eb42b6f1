# SPDX-License-Identifier: Apache-2.0
"""Validation of whole objects by the rules of their kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from steersman.api.json_values import Document, group_kind
from steersman.api.validation import (
    autoscaling,
    batch,
    cluster_kinds,
    configuration,
    devices,
    networking,
    persistent_volumes,
    pod_groups,
    pods,
    quotas,
    rbac,
    services,
    storage,
    workloads,
)
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.kind_rules import KindRules
from steersman.api.validation.well_typed import well_typed

MODULES: Final = (
    autoscaling,
    batch,
    cluster_kinds,
    configuration,
    devices,
    networking,
    persistent_volumes,
    pod_groups,
    pods,
    quotas,
    rbac,
    services,
    storage,
    workloads,
)
RULES: Final[Mapping[tuple[str, str], KindRules]] = {
    kind: rules for module in MODULES for kind, rules in module.RULES.items()
}
"""Rules of built-in kinds by group and kind."""
_NO_RULES: Final = KindRules()
STATUS: Final = "status"


def validate(document: Document, *, is_decoded: bool = False) -> list[FieldError]:
    """Return the errors of a new object, except those of its metadata.

    Values of a wrong type count as absent; `is_decoded` asserts that there are none.
    """
    rules = RULES.get(group_kind(document), _NO_RULES)
    typed = document if is_decoded else well_typed(document)
    return list(rules.validate(typed)) if rules.validate and typed is not None else []


def validate_status(document: Document, old: Document) -> list[FieldError]:
    """Return the errors of a status update; upstream has rules for few kinds."""
    rules = RULES.get(group_kind(document), _NO_RULES).subresources.get(STATUS)
    return [] if rules is None else list(rules(document, old))


def validate_update(document: Document, old: Document, subresource: str = "") -> list[FieldError]:
    """Return the errors of replacing `old` by `document`, both decoded and with defaults.

    Some subresources have their own rules.
    """
    rules = RULES.get(group_kind(document), _NO_RULES)
    if subresource in rules.subresources:
        return list(rules.subresources[subresource](document, old))
    errors = [] if rules.has_own_update else validate(document, is_decoded=True)
    return errors + (list(rules.validate_update(document, old)) if rules.validate_update else [])
