# SPDX-License-Identifier: Apache-2.0
"""Documents of every kind that the scheduler watches, with all fields that it reads filled, and what may be wrong with them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from hypothesis import strategies as st
from msgspec import inspect
from tests.hostile.json_values import VALUES

from steersman import api
from steersman.api import codec
from steersman.framework.watching import WATCHED_KINDS
from steersman.testing import make_device_class, make_node, make_pod, make_resource_claim, make_slice
from steersman.testing.building import Builder

Document = dict[str, Any]
Path = tuple[str | int, ...]

UIDS: Final = ("u1", "u2", "u3")
NAMES: Final = ("m1", "m2")
"""Few, so that objects meet others of their name and of their uid."""
_TIME: Final = "2026-01-02T03:04:05Z"
_TEXTS: Final = {
    "key": "zone",
    "operator": "In",
    "topologyKey": "zone",
    "nodeName": "m1",
    "claimName": "m1",
    "resourceClaimName": "m1",
    "storageClassName": "m1",
    "volumeName": "m1",
    "deviceClassName": "m1",
    "persistentVolumeName": "m1",
    "expression": 'device.driver == "m1"',
    "protocol": "TCP",
    "whenUnsatisfiable": "DoNotSchedule",
    "effect": "NoSchedule",
    "volumeBindingMode": "WaitForFirstConsumer",
    "allocationMode": "ExactCount",
    "extendedResourceName": "example.com/gpu",
    "phase": "Pending",
    "schedulerName": "default-scheduler",
    "version": "1.2.3",
    "kind": "ReplicaSet",
    "minAvailable": "50%",
    "maxUnavailable": "50%",
}
_QUANTITIES: Final = frozenset(
    [
        "value",
        "capacity",
        "maximumVolumeSize",
        "sizeLimit",
        "allocationMultiplier",
        "default",
        "min",
        "max",
        "step",
        "validValue",
    ]
)
_UNWANTED: Final = ("schedulingGates", "deletionTimestamp", "schedulingGroup", "continue")
"""Fields with which nothing else of the object would be looked at."""


def filled(kind: type[api.Object]) -> Document:
    """A document of the kind with every field that is read."""
    document: Document = _value(inspect.type_info(kind), "")
    meta = document["metadata"]
    meta.update(name=NAMES[0], uid=UIDS[0], resourceVersion="1", namespace="default" if kind.NAMESPACED else "")
    return {"apiVersion": kind.API_VERSION, "kind": kind.KIND, **document}


def _value(info: inspect.Type, name: str) -> Any:
    if isinstance(info, inspect.StructType):
        fields = (field for field in info.fields if field.encode_name not in _UNWANTED)
        return {field.encode_name: _value(field.type, field.encode_name) for field in fields}
    if isinstance(info, inspect.VarTupleType):
        return [_value(info.item_type, name.removesuffix("s"))]
    if isinstance(info, inspect.DictType):
        is_amount = isinstance(info.value_type, inspect.UnionType)
        return {"cpu": "1", "storage": "1Gi"} if is_amount else {"zone": _value(info.value_type, "zone")}
    if isinstance(info, inspect.UnionType):
        return _value(next(one for one in info.types if not isinstance(one, inspect.NoneType)), name)
    return _scalar(info, name)


def _scalar(info: inspect.Type, name: str) -> Any:
    if isinstance(info, inspect.StrType):
        return _text(name)
    if isinstance(info, inspect.BoolType):
        return True
    return 1 if isinstance(info, inspect.IntType | inspect.FloatType) else {}


def _text(name: str) -> Any:
    if name in _QUANTITIES:
        return "1"
    return _TIME if name.endswith(("Time", "Timestamp", "timeAdded")) else _TEXTS.get(name, "m1")


#: Objects that get further than one with everything: a cycle looks at one thing after the other.
_PLAIN: Final[tuple[Builder[Any], ...]] = (
    make_node().capacity(cpu="8", memory="8Gi", pods="10").label("zone", "m1"),
    make_device_class("m1").selects('device.driver == "m1"').backs("example.com/gpu"),
    make_slice("m1").driver("m1").pool("m1").everywhere().device("d1", zone="m1").device("d2", zone=1),
    make_resource_claim("m1").asks("r1", "m1"),
    make_pod().req(cpu="1", memory="1Gi").spread("zone").host_port(80).image("m1").priority(10),
    make_pod().req(cpu="1").label("zone", "m1").anti_affinity("zone", {"zone": "m1"}).toleration("zone"),
    make_pod().pvc("m1").sidecar_req(cpu="1").overhead(cpu="1m").node_selector("zone", "m1"),
    make_pod().resource_claim("m1").req(cpu="1"),
    make_pod().req(**{"example.com/gpu": "1"}),
    make_pod().req(cpu="1").node("m1").started(_TIME).priority(-5).nominated("m1"),
    make_pod().req(cpu="3").node("m2").label("zone", "m1").pod_affinity("zone", {"zone": "m1"}),
)


def _plain(built: Builder[Any]) -> Document:
    document = codec.to_dict(built.obj())
    document["metadata"].update(name=NAMES[0], uid=UIDS[0], resourceVersion="1")
    return document


BASES: Final[dict[type[api.Object], list[Document]]] = {kind: [filled(kind)] for kind in WATCHED_KINDS}
for _built in _PLAIN:
    BASES[type(_built.obj())].append(_plain(_built))
BASES[api.Pod].append(filled(api.Pod))
del BASES[api.Pod][-1]["spec"]["nodeName"]


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, child in children:
        yield from _paths(child, (*path, name))


#: What is wrong in ways that matter to somebody, besides JSON as nobody expects it.
HOSTILE: st.SearchStrategy[Any] = st.one_of(
    VALUES,
    st.sampled_from(
        [
            *("lots", "-1", "1e400", "1e-400", "9" * 5000, "0.0000000001", "1Ei", "9223372036854775808", "1 Gi"),
            *("yesterday", "2026-13-45T99:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"),
            *("NotIn", "Exists", "DoesNotExist", "Gt", "in", "a b", "-", "x" * 300, "0%", "101%", "-5%", "1.2.3-rc.1"),
            *("ScheduleAnyway", "Always", "All", "Immediate", "Succeeded", "kubernetes.io/hostname", "Equal"),
            *("device.attributes", "[1].all(x, x > 0)", "1/0 == 1", "(" * 300, "device.attributes['m1'].zone == 1"),
            *("m1", "m2", *UIDS, "x" * 100_000, "\x00\x1b[2J"),
            *(-1, 2**31, 2**63, 10**400, 1.5, True, None, [], {}, [None], {"": None}, [[]], ["m1", "m1"]),
        ]
    ),
)


@st.composite
def mutated(draw: st.DrawFn, base: Document) -> Document:
    """The document after a few changes: values of other types, nulls, fields that are missing, fields that nobody knows."""
    document = copy.deepcopy(base)
    document["metadata"].update(name=draw(st.sampled_from(NAMES)), uid=draw(st.sampled_from(UIDS)))
    for path in draw(st.lists(st.sampled_from(list(_paths(base))), max_size=3)):
        _change(draw, document, path)
    return document


def _change(draw: st.DrawFn, document: Document, path: Path) -> None:
    """Nothing, where an earlier change has left nothing to change."""
    parent: Any = document
    for name in path[:-1]:
        parent = parent[name] if _holds(parent, name) else None
    if not _holds(parent, path[-1]):
        return
    how = draw(st.sampled_from(["replaced", "replaced", "missing", "extra", "repeated"]))
    if how == "missing":
        del parent[path[-1]]
    elif how == "extra" and isinstance(parent, dict):
        parent["unheardOf"] = draw(HOSTILE)
    elif how == "repeated" and isinstance(parent, list):
        parent.extend(parent * 2)
    else:
        parent[path[-1]] = draw(HOSTILE)


def _holds(parent: Any, name: str | int) -> bool:
    if isinstance(parent, list):
        return isinstance(name, int) and name < len(parent)
    return isinstance(parent, dict) and name in parent


_DEEP: Final = b"[" * 3000 + b"]" * 3000


@st.composite
def texts(draw: st.DrawFn, kind: type[api.Object]) -> bytes:
    """The JSON of a mutated object; in some, text is wrong that no document could hold."""
    document = draw(mutated(draw(st.sampled_from(BASES[kind]))))
    text = json.dumps(document, ensure_ascii=draw(st.booleans())).encode()
    how = draw(st.sampled_from(["whole"] * 6 + ["deep", "twice", "not UTF-8", "control"]))
    if how == "deep":
        return text[:-1] + b', "unheardOf": ' + _DEEP + b"}"
    if how == "twice":
        name = draw(st.sampled_from([b"metadata", b"spec", b"status", b"kind"]))
        return text[:-1] + b', "' + name + b'": ' + msgspec.json.encode(draw(VALUES)) + b"}"
    if how == "not UTF-8":
        return text.replace(b'"m1"', b'"m\xff"', draw(st.integers(1, 3)))
    return text.replace(b'"zone"', b'"zo\\u001bne"') if how == "control" else text
