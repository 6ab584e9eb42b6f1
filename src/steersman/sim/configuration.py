# SPDX-License-Identifier: Apache-2.0
"""The configuration of a simulation's scheduler, in the forms in which callers of the library give it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any, TypeAlias

from steersman import config
from steersman.api.text_files import read_text
from steersman.config import FeatureGates, SchedulerConfiguration
from steersman.errors import InputError

Configuration: TypeAlias = "str | PathLike[str] | Mapping[str, Any] | SchedulerConfiguration | None"
"""A file with a KubeSchedulerConfiguration, the document as a dict, or one that is already loaded; None: the default one."""


def load_configuration(given: Configuration, gates: FeatureGates) -> SchedulerConfiguration:
    """The configuration, read, defaulted and validated. Raises `InputError` and `ConfigError`."""
    if given is None:
        return config.default_configuration(gates)
    if isinstance(given, SchedulerConfiguration):
        config.validate(given, gates)
        return given
    if isinstance(given, Mapping):
        return config.load(_json(given), gates=gates)
    path = fspath(given)
    return config.load(read_text(path), path, gates)


def _json(document: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(document))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"is no document of plain values: {error}", object="configuration") from error
