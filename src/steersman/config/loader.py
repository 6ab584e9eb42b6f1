# SPDX-License-Identifier: Apache-2.0
"""Entrance to the package: text in, configuration out.

Runs the stages in order: `decoder`, `defaults`, `validation`. Building what runs from it is `effective_configuration`'s work.
"""

from __future__ import annotations

from steersman.config.configuration import SchedulerConfiguration
from steersman.config.decoder import DecodedDocument, decode
from steersman.config.defaults import with_defaults
from steersman.config.feature_gates import DEFAULT_GATES, FeatureGates
from steersman.config.validation import validate

_UNNAMED = "configuration"


def load(text: str, source: str = _UNNAMED, gates: FeatureGates = DEFAULT_GATES) -> SchedulerConfiguration:
    """A valid configuration from a YAML or JSON document; `source` names it in errors. Raises `ConfigError`."""
    config = load_unvalidated(text, source, gates)
    validate(config, gates, file=source)
    return config


def load_unvalidated(text: str, source: str = _UNNAMED, gates: FeatureGates = DEFAULT_GATES) -> SchedulerConfiguration:
    """Like `load` without the validate stage, for those who want to see the defaults of a document that is wrong."""
    return with_defaults(decode(text, source), gates)


def default_configuration(gates: FeatureGates = DEFAULT_GATES) -> SchedulerConfiguration:
    """The configuration of a scheduler that is started without a file."""
    return with_defaults(DecodedDocument({}), gates)
