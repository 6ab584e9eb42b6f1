# SPDX-License-Identifier: Apache-2.0
"""What the reader of a result should know about the input: one line each, none when all is well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from steersman import api
from steersman.config import (
    DEFAULT_GATES,
    Capabilities,
    ConfigError,
    FeatureGates,
    SchedulerConfiguration,
    check_disabled,
    without_effect,
)
from steersman.redaction import hide_passwords
from steersman.sim.sources import unexpanded

NO_FAILURES: Final[Mapping[str, str]] = MappingProxyType({})


def notes(
    objects: Iterable[api.Object],
    skipped: Counter[str],
    configuration: SchedulerConfiguration,
    capabilities: Capabilities,
    gates: FeatureGates = DEFAULT_GATES,
    refresh_failures: Mapping[str, str] = NO_FAILURES,
) -> Iterator[str]:
    """`refresh_failures`: by plugin, why it does not know what it wanted to know from outside."""
    makers = unexpanded(objects)
    if makers:
        yield f"controllers do not run here: no pods were made for {_counted(makers)}"
    if skipped:
        yield f"objects of other kinds were passed over: {_counted(skipped)}"
    if configuration.extenders:
        urls = ", ".join(hide_passwords(extender.url_prefix) for extender in configuration.extenders)
        yield f"extenders are not called in a simulation: {urls}"
    yield from without_effect(gates)
    for plugin, why in refresh_failures.items():
        yield f'plugin "{plugin}" cannot refresh: {why}'
    try:
        check_disabled(configuration, capabilities)
    except ConfigError as error:
        yield from (problem.line for problem in error.errors)


def _counted(kinds: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
