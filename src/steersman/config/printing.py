"""Printing a configuration as a v1 document, the way kube-scheduler writes one.

The reverse of `decoding` and `defaults`: everything is spelled out, so that loading the result gives the same
configuration again.
"""

from __future__ import annotations

import yaml

from steersman.config.args_schema import PLUGIN_ARGS
from steersman.config.configuration import Args, SchedulerConfiguration
from steersman.config.json_tree import PlainValue
from steersman.config.schema import CONFIGURATION
from steersman.config.yaml_scalars import resolve


def to_document(config: SchedulerConfiguration) -> dict[str, PlainValue]:
    """The configuration as a v1 document; plugin sets as merged, not expanded."""
    document = CONFIGURATION.encode(config)
    assert isinstance(document, dict)
    return document


def args_document(args: Args) -> PlainValue:
    """Plugin arguments as they are printed: typed ones with apiVersion and kind, others as they are."""
    return None if args is None else PLUGIN_ARGS.encode(args)


def dump_yaml(config: SchedulerConfiguration) -> str:
    """The document as YAML, keys sorted as kube-scheduler prints them."""
    return yaml.dump(to_document(config), Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=120)


class _Dumper(yaml.SafeDumper):
    """Quotes every string that Kubernetes' YAML reader would take for something else."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _string(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    is_plain = isinstance(resolve(None, True, text), str)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if is_plain else '"')


_Dumper.add_representer(str, _string)
