# SPDX-License-Identifier: Apache-2.0
"""Configuration documents: text in, configuration out, and back.

`load` runs the stages in order: `decoder`, `defaults`, `validation`. Building what runs from it is the work of
`effective_configuration`. Printing is the reverse, the way kube-scheduler writes a v1 document: everything is spelled out, so
that loading the result gives the same configuration again. What leaves the process (`/configz`, `--write-config-to`,
`steersman config show`) is printed without secrets: keys and certificates of extenders, and passwords in URLs.
"""

from __future__ import annotations

from typing import Final

import yaml

from steersman.config.configuration import Args, SchedulerConfiguration
from steersman.config.decoder import DecodedDocument, decode
from steersman.config.defaults import with_defaults
from steersman.config.feature_gates import DEFAULT_GATES, FeatureGates
from steersman.config.json_tree import PlainValue
from steersman.config.schema import CONFIGURATION, PLUGIN_ARGS
from steersman.config.validation import validate
from steersman.config.yaml_scalars import resolve
from steersman.printable import has_printable_lines
from steersman.redaction import HIDDEN_DATA, HIDDEN_PASSWORD, hide_passwords

# -- reading -----------------------------------------------------------------------------------------------------------


_UNNAMED = "configuration"


def load(text: str, source: str = _UNNAMED, gates: FeatureGates = DEFAULT_GATES) -> SchedulerConfiguration:
    """A valid configuration from a YAML or JSON document; `source` names it in errors. Raises `ConfigError`."""
    config = load_unvalidated(text, source, gates)
    validate(config, gates, file=source)
    return config


def load_unvalidated(text: str, source: str = _UNNAMED, gates: FeatureGates = DEFAULT_GATES) -> SchedulerConfiguration:
    """Reads and defaults a document without validating it, for those who want to see the defaults of a document that is
    wrong."""
    return with_defaults(decode(text, source), gates)


def default_configuration(gates: FeatureGates = DEFAULT_GATES) -> SchedulerConfiguration:
    """The configuration of a scheduler that is started without a file."""
    return with_defaults(DecodedDocument({}), gates)


# -- printing ----------------------------------------------------------------------------------------------------------


SECRET_FIELDS: Final = frozenset({"keyData", "certData"})
"""Of an extender's tlsConfig. A certificate is no secret, but its file often holds the key as well."""
SECRETS_ARE_HIDDEN: Final = (
    f"# Secrets are hidden: put them in place of {HIDDEN_DATA} and {HIDDEN_PASSWORD} before this file is loaded."
)


def to_document(config: SchedulerConfiguration) -> dict[str, PlainValue]:
    """The configuration as a v1 document; plugin sets as merged, not expanded."""
    document = CONFIGURATION.encode(config)
    assert isinstance(document, dict)
    return document


def public_document(config: SchedulerConfiguration) -> dict[str, PlainValue]:
    """`to_document` without secrets."""
    document = without_secrets(to_document(config))
    assert isinstance(document, dict)
    return document


def without_secrets(value: PlainValue) -> PlainValue:
    """A document, or a part of one, with words in place of its secrets."""
    if isinstance(value, dict):
        return {key: HIDDEN_DATA if key in SECRET_FIELDS else without_secrets(part) for key, part in value.items()}
    if isinstance(value, list):
        return [without_secrets(part) for part in value]
    return hide_passwords(value) if isinstance(value, str) else value


def args_document(args: Args) -> PlainValue:
    """Plugin arguments as they are printed: typed ones with apiVersion and kind, others as they are."""
    return None if args is None else PLUGIN_ARGS.encode(args)


def dump_yaml(config: SchedulerConfiguration) -> str:
    """The document as YAML, keys sorted as kube-scheduler prints them. Holds all secrets."""
    return _yaml(to_document(config))


def dump_public_yaml(config: SchedulerConfiguration) -> str:
    """The document as YAML without secrets. If there were any, its first line says so: it cannot be loaded as it is."""
    document = public_document(config)
    text = _yaml(document)
    return text if document == to_document(config) else f"{SECRETS_ARE_HIDDEN}\n{text}"


def _yaml(document: PlainValue) -> str:
    """Other scripts are readable as they are, unless there are marks among them that would not be seen."""
    text = _dumped(document, as_it_is=True)
    return text if has_printable_lines(text) else _dumped(document, as_it_is=False)


def _dumped(document: PlainValue, *, as_it_is: bool) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=True, allow_unicode=as_it_is, width=120)


class _Dumper(yaml.SafeDumper):
    """Quotes every string that Kubernetes' YAML reader would take for something else."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _string(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    is_plain = isinstance(resolve(None, True, text), str)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if is_plain else '"')


_Dumper.add_representer(str, _string)
