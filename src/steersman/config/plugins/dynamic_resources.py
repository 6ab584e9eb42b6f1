# SPDX-License-Identifier: Apache-2.0
"""Arguments of DynamicResources."""

from __future__ import annotations

from typing import Final

from steersman.api import Duration
from steersman.config.errors import FieldError, child, forbidden, invalid
from steersman.config.feature_gates import BINDING_CONDITION_GATES, FeatureGates
from steersman.config.field_kinds import DurationText, Field, Printed
from steersman.config.plugins.arguments import PluginArgs

_TIMEOUT: Final = DurationText(nullable=True)
_SHORTEST_BINDING_TIMEOUT: Final = Duration.from_seconds(1)


class DynamicResourcesArgs(PluginArgs, frozen=True):
    """A timeout of `None` means a disabled feature; a `filter_timeout` of zero means no limit."""

    filter_timeout: Duration | None = Duration.from_seconds(10)
    binding_timeout: Duration | None = Duration.from_seconds(600)

    document_fields = {
        "filterTimeout": Field("filter_timeout", _TIMEOUT, printed=Printed.ALWAYS, absent=None),
        "bindingTimeout": Field("binding_timeout", _TIMEOUT, printed=Printed.UNLESS_NONE, absent=None),
    }

    def with_gated_defaults(self, gates: FeatureGates) -> DynamicResourcesArgs:
        standard = DynamicResourcesArgs()
        filter_timeout, binding_timeout = self.filter_timeout, self.binding_timeout
        if filter_timeout is None and _limits_filter(gates):
            filter_timeout = standard.filter_timeout
        if binding_timeout is None and _has_binding_conditions(gates):
            binding_timeout = standard.binding_timeout
        return DynamicResourcesArgs(filter_timeout=filter_timeout, binding_timeout=binding_timeout)

    def errors(self, path: str, gates: FeatureGates) -> list[FieldError]:
        return [
            *_filter_timeout(child(path, "filterTimeout"), self.filter_timeout, gates),
            *_binding_timeout(child(path, "bindingTimeout"), self.binding_timeout, gates),
        ]


def _limits_filter(gates: FeatureGates) -> bool:
    return gates.enabled("DRASchedulerFilterTimeout")


def _has_binding_conditions(gates: FeatureGates) -> bool:
    return all(gates.enabled(gate) for gate in BINDING_CONDITION_GATES)


def _filter_timeout(path: str, timeout: Duration | None, gates: FeatureGates) -> list[FieldError]:
    if timeout is None:
        return []
    if not _limits_filter(gates):
        return [forbidden(path, "DRASchedulingFilterTimeout feature gate is disabled")]
    return [invalid(path, timeout, "must be zero or positive")] if timeout < Duration(0) else []


def _binding_timeout(path: str, timeout: Duration | None, gates: FeatureGates) -> list[FieldError]:
    if timeout is None:
        return []
    if not _has_binding_conditions(gates):
        return [forbidden(path, f"{' or '.join(BINDING_CONDITION_GATES)} feature gate is disabled")]
    return [invalid(path, timeout, "must be at least 1 second")] if timeout < _SHORTEST_BINDING_TIMEOUT else []
