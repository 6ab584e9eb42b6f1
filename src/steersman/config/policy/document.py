# SPDX-License-Identifier: Apache-2.0
"""The `Policy` document: its types and its strict decoding from YAML or JSON.

Output is a `Policy` for `conversion` and `plugin_mapping`. `None` for predicates or priorities
means "not given", which differs from an empty list.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.api import Duration
from steersman.config.configuration import API_VERSION, ConfigStruct, Extender
from steersman.config.document_tree import JsonValue
from steersman.config.documents import DocumentHeader, StrictErrors, decode_errors, decode_object, header_of, read_tree
from steersman.config.errors import DecodeAbort, DecodeKind, DecodeLog, DocumentPlace
from steersman.config.field_kinds import ABSENT, BOOL, INT32, INT64, TEXT, TEXTS, Field, Integer, ListOf, ObjectOf
from steersman.config.plugins.node_resources import RESOURCES, ResourceSpec
from steersman.config.plugins.utilization_shape import SHAPE, UtilizationShapePoint
from steersman.config.schema import EXTENDER

POLICY_KIND: Final = "Policy"
_API_VERSIONS: Final = ("", "v1", API_VERSION)


class LabelsPresence(ConfigStruct, frozen=True):
    labels: tuple[str, ...] = ()
    presence: bool = False


class ServiceAffinity(ConfigStruct, frozen=True):
    labels: tuple[str, ...] = ()


class ServiceAntiAffinity(ConfigStruct, frozen=True):
    label: str = ""


class LabelPreference(ConfigStruct, frozen=True):
    label: str = ""
    presence: bool = False


class RequestedToCapacityRatioArguments(ConfigStruct, frozen=True):
    shape: tuple[UtilizationShapePoint, ...] = ()
    resources: tuple[ResourceSpec, ...] = ()


class PredicateArgument(ConfigStruct, frozen=True):
    service_affinity: ServiceAffinity | None = None
    labels_presence: LabelsPresence | None = None


class PriorityArgument(ConfigStruct, frozen=True):
    service_anti_affinity: ServiceAntiAffinity | None = None
    label_preference: LabelPreference | None = None
    requested_to_capacity_ratio: RequestedToCapacityRatioArguments | None = None


class Predicate(ConfigStruct, frozen=True):
    name: str = ""
    argument: PredicateArgument | None = None


class Priority(ConfigStruct, frozen=True):
    name: str = ""
    weight: int = 0
    argument: PriorityArgument | None = None


class Policy(ConfigStruct, frozen=True):
    predicates: tuple[Predicate, ...] | None = None
    priorities: tuple[Priority, ...] | None = None
    extenders: tuple[Extender, ...] = ()
    hard_pod_affinity_symmetric_weight: int = 0
    always_check_all_predicates: bool = False


def read_policy(text: str, file: str | None = None) -> Policy:
    """Decode a policy in YAML or JSON. Raises `ConfigError`."""
    with decode_errors(file):
        tree, strict = read_tree(text)
        _check_header(header_of(tree))
        policy, strict_fields = decode_object(_POLICY, tree)
        if strict or strict_fields:
            raise StrictErrors([*strict, *strict_fields])
    assert isinstance(policy, Policy)
    return policy


def _check_header(header: DocumentHeader) -> None:
    """Reject other documents. Kind and version are optional, since they were often omitted."""
    if header.kind in ("", POLICY_KIND) and header.api_version in _API_VERSIONS:
        return
    text = f"this is {header.api_version} {header.kind}; to convert is a v1 {POLICY_KIND}"
    raise DecodeAbort(DecodeKind.WRONG_KIND, text, "kind")


class _Nanoseconds(Integer, frozen=True):
    """A duration in a policy: a number of nanoseconds."""

    def decode(self, value: JsonValue, place: DocumentPlace, log: DecodeLog) -> object:
        nanoseconds = super().decode(value, place, log)
        return Duration(nanoseconds) if isinstance(nanoseconds, int) else ABSENT


def _table(make: Any, **fields: Field) -> ObjectOf:
    return ObjectOf(make, fields)


_EXTENDER: Final = ObjectOf(
    Extender,
    {
        **{name: field for name, field in EXTENDER.fields.items() if name != "enableHTTPS"},
        "enableHttps": Field("enable_https", BOOL),
        "httpTimeout": Field("http_timeout", _Nanoseconds(INT64.smallest, INT64.largest)),
    },
)

_PREDICATE: Final = _table(
    Predicate,
    name=Field("name", TEXT),
    argument=Field(
        "argument",
        _table(
            PredicateArgument,
            serviceAffinity=Field("service_affinity", _table(ServiceAffinity, labels=Field("labels", TEXTS))),
            labelsPresence=Field(
                "labels_presence",
                _table(LabelsPresence, labels=Field("labels", TEXTS), presence=Field("presence", BOOL)),
            ),
        ),
    ),
)

_PRIORITY: Final = _table(
    Priority,
    name=Field("name", TEXT),
    weight=Field("weight", INT64),
    argument=Field(
        "argument",
        _table(
            PriorityArgument,
            serviceAntiAffinity=Field("service_anti_affinity", _table(ServiceAntiAffinity, label=Field("label", TEXT))),
            labelPreference=Field(
                "label_preference",
                _table(LabelPreference, label=Field("label", TEXT), presence=Field("presence", BOOL)),
            ),
            requestedToCapacityRatioArguments=Field(
                "requested_to_capacity_ratio",
                _table(
                    RequestedToCapacityRatioArguments,
                    shape=Field("shape", SHAPE),
                    resources=Field("resources", RESOURCES),
                ),
            ),
        ),
    ),
)

_POLICY: Final = ObjectOf(
    Policy,
    {
        "predicates": Field("predicates", ListOf(_PREDICATE)),
        "priorities": Field("priorities", ListOf(_PRIORITY)),
        "extenders": Field("extenders", ListOf(_EXTENDER)),
        "hardPodAffinitySymmetricWeight": Field("hard_pod_affinity_symmetric_weight", INT32),
        "alwaysCheckAllPredicates": Field("always_check_all_predicates", BOOL),
    },
    header={"apiVersion": "v1", "kind": POLICY_KIND},
)
