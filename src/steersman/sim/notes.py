# SPDX-License-Identifier: Apache-2.0
"""What the reader of a result should know about the input: one line each, none when all is well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from steersman.config import Capabilities, ConfigError, SchedulerConfiguration, check_disabled
from steersman.redaction import hide_passwords
from steersman.sim.workloads import counted


def notes(
    about_workloads: Iterable[str],
    skipped: Counter[str],
    configuration: SchedulerConfiguration,
    capabilities: Capabilities,
) -> Iterator[str]:
    yield from about_workloads
    if skipped:
        yield f"objects of other kinds were passed over: {counted(skipped)}"
    if configuration.extenders:
        urls = ", ".join(hide_passwords(extender.url_prefix) for extender in configuration.extenders)
        yield f"extenders are not called in a simulation: {urls}"
    try:
        check_disabled(configuration, capabilities)
    except ConfigError as error:
        yield from (problem.line for problem in error.errors)
