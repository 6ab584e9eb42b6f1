# SPDX-License-Identifier: Apache-2.0
"""Pod manifests of a given size that consist of one kind of scheduling term, each term different from the others.

An API server admits all of them: any tenant who may create pods may create these.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Final

Json = dict[str, Any]
#: Adds the term with this index to a pod's specification.
AddTerm = Callable[[Json, int], None]

ZONE: Final = "topology.kubernetes.io/zone"
HOST: Final = "kubernetes.io/hostname"
LABELS: Final = "labels of the pod"
"""Key in a specification that is being made, of labels that belong into the metadata."""


def _append(spec: Json, *path: str) -> list[Any]:
    """Return the list at the path, created when it is absent."""
    for key in path[:-1]:
        spec = spec.setdefault(key, {})
    items: list[Any] = spec.setdefault(path[-1], [])
    return items


def _entries(spec: Json, *path: str) -> Json:
    """Return the map at the path, created when it is absent."""
    for key in path:
        spec = spec.setdefault(key, {})
    return spec


def _only(items: list[Any], make: Callable[[], Json]) -> Json:
    """Return the single item of a list, created when it is absent."""
    if not items:
        items.append(make())
    item: Json = items[0]
    return item


def _spread(when: str, key: str) -> AddTerm:
    def add(spec: Json, index: int) -> None:
        selector = {"matchLabels": {"app": f"a-{index}"}}
        constraint = {"maxSkew": 1, "topologyKey": key.format(index), "whenUnsatisfiable": when}
        _append(spec, "topologySpreadConstraints").append({**constraint, "labelSelector": selector})

    return add


def _match_label_keys(spec: Json, index: int) -> None:
    """One constraint with many keys of labels of the pod itself."""
    constraint = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway", "matchLabelKeys": []}
    selector = {"labelSelector": {"matchLabels": {"app": "a"}}}
    only = _only(_append(spec, "topologySpreadConstraints"), lambda: {**constraint, **selector})
    only["matchLabelKeys"].append(f"key-{index}")
    _entries(spec, LABELS)[f"key-{index}"] = "x"


def _pod_term(key: str, selector: Json) -> Json:
    return {"topologyKey": key, "labelSelector": selector}


def _required(kind: str, key: str, values: str = "app-{}") -> AddTerm:
    def add(spec: Json, index: int) -> None:
        terms = _append(spec, "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution")
        terms.append(_pod_term(key.format(index), {"matchLabels": {"app": values.format(index)}}))

    return add


def _preferred(kind: str, key: str) -> AddTerm:
    def add(spec: Json, index: int) -> None:
        terms = _append(spec, "affinity", kind, "preferredDuringSchedulingIgnoredDuringExecution")
        term = _pod_term(key.format(index), {"matchLabels": {"app": f"app-{index}"}})
        terms.append({"weight": 1 + index % 100, "podAffinityTerm": term})

    return add


def _common_selector(kind: str, operator: str) -> AddTerm:
    """All running pods are candidates of every term, by an operator that no index of labels answers."""

    def add(spec: Json, index: int) -> None:
        terms = _append(spec, "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution")
        expression: Json = {"key": "app" if operator == "NotIn" else f"k-{index}", "operator": operator}
        if operator == "NotIn":
            expression["values"] = [f"v-{index}"]
        terms.append(_pod_term(HOST, {"matchExpressions": [expression]}))

    return add


def _two_expressions(kind: str) -> AddTerm:
    """All running pods are candidates of every term, and every term is affected by a label that all of them have."""

    def add(spec: Json, index: int) -> None:
        terms = _append(spec, "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution")
        expressions = [{"key": "app", "operator": "Exists"}, {"key": f"k-{index}", "operator": "DoesNotExist"}]
        terms.append(_pod_term(HOST, {"matchExpressions": expressions}))

    return add


def _hard_spread_of_almost_all(spec: Json, index: int) -> None:
    selector = {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [f"v-{index}"]}]}
    constraint = {"maxSkew": 1, "topologyKey": "number", "whenUnsatisfiable": "DoNotSchedule"}
    _append(spec, "topologySpreadConstraints").append({**constraint, "minDomains": 1000, "labelSelector": selector})


def _preferred_common_selector(spec: Json, index: int) -> None:
    terms = _append(spec, "affinity", "podAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
    expression = {"key": "app", "operator": "NotIn", "values": [f"v-{index}"]}
    terms.append({"weight": 1, "podAffinityTerm": _pod_term(ZONE, {"matchExpressions": [expression]})})


def _many_expressions(kind: str) -> AddTerm:
    def add(spec: Json, index: int) -> None:
        terms = _append(spec, "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution")
        term = _only(terms, lambda: _pod_term(ZONE, {"matchExpressions": []}))
        expression = {"key": f"k-{index}", "operator": "NotIn", "values": [f"v-{index}"]}
        term["labelSelector"]["matchExpressions"].append(expression)

    return add


def _many_values(kind: str) -> AddTerm:
    def add(spec: Json, index: int) -> None:
        terms = _append(spec, "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution")
        expression = {"key": "app", "operator": "In", "values": []}
        term = _only(terms, lambda: _pod_term(ZONE, {"matchExpressions": [expression]}))
        term["labelSelector"]["matchExpressions"][0]["values"].append(f"app-{index + 10**6}")

    return add


def _namespaces(kind: str) -> AddTerm:
    def add(spec: Json, index: int) -> None:
        terms = _append(spec, "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution")
        terms.append(
            {
                **_pod_term(ZONE, {"matchLabels": {"app": f"a-{index}"}}),
                "namespaceSelector": {"matchExpressions": [{"key": f"n-{index}", "operator": "DoesNotExist"}]},
            }
        )

    return add


def _node_terms(operator: str, key: str = "number") -> AddTerm:
    def add(spec: Json, index: int) -> None:
        terms = _append(
            spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"
        )
        values = [] if "xist" in operator else [str(10**6 + index)]
        terms.append({"matchExpressions": [{"key": key.format(index), "operator": operator, "values": values}]})

    return add


def _node_fields(spec: Json, index: int) -> None:
    terms = _append(
        spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"
    )
    terms.append({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"absent-{index}"]}]})


def _node_expressions(operator: str, key: str = "number") -> AddTerm:
    """One term with many expressions."""

    def add(spec: Json, index: int) -> None:
        terms = _append(
            spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"
        )
        value = str(10**6 + index) if operator == "Lt" else str(-index) if operator == "Gt" else f"v-{index}"
        term = _only(terms, lambda: {"matchExpressions": []})
        term["matchExpressions"].append({"key": key.format(index), "operator": operator, "values": [value]})

    return add


def _node_values(operator: str) -> AddTerm:
    """One expression with many values."""

    def add(spec: Json, index: int) -> None:
        terms = _append(
            spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"
        )
        expression = {"key": HOST, "operator": operator, "values": []}
        term = _only(terms, lambda: {"matchExpressions": [expression]})
        term["matchExpressions"][0]["values"].append(f"v-{index}")

    return add


def _preferred_node_terms(operator: str) -> AddTerm:
    def add(spec: Json, index: int) -> None:
        terms = _append(spec, "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
        expression = {"key": "number", "operator": operator, "values": [str(index)]}
        terms.append({"weight": 1 + index % 100, "preference": {"matchExpressions": [expression]}})

    return add


def _node_selector(spec: Json, index: int) -> None:
    _entries(spec, "nodeSelector")[f"key-{index}"] = f"value-{index}"


def _tolerations(spec: Json, index: int) -> None:
    toleration = {"key": f"key-{index}", "operator": "Equal", "value": f"v-{index}", "effect": "NoSchedule"}
    _append(spec, "tolerations").append(toleration)


def _preferring_tolerations(spec: Json, index: int) -> None:
    _append(spec, "tolerations").append({"key": f"key-{index}", "operator": "Exists", "effect": "PreferNoSchedule"})


def _resources(spec: Json, index: int) -> None:
    for kind in ("requests", "limits"):
        _entries(spec["containers"][0], "resources", kind)[f"example.com/r-{index}"] = "1"


def _init_resources(spec: Json, index: int) -> None:
    resources = {"requests": {f"example.com/r-{index}": "1"}, "limits": {f"example.com/r-{index}": "1"}}
    _append(spec, "initContainers").append({"name": f"i-{index}", "image": "i", "resources": resources})


def _host_ports(spec: Json, index: int) -> None:
    ports = _append(spec["containers"][0], "ports")
    port = {"hostPort": 1 + index % 65535, "containerPort": 1, "protocol": "TCP"}
    ports.append({**port, "hostIP": f"10.0.{index // 65535}.1"})


def _claimed_volumes(spec: Json, index: int) -> None:
    volume = {"name": f"v-{index}", "persistentVolumeClaim": {"claimName": f"claim-{index}"}}
    _append(spec, "volumes").append(volume)


def _disks(spec: Json, index: int) -> None:
    _append(spec, "volumes").append({"name": f"v-{index}", "gcePersistentDisk": {"pdName": f"disk-{index}"}})


def _ephemeral_volumes(spec: Json, index: int) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    _append(spec, "volumes").append({"name": f"v-{index}", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}})


def _resource_claims(spec: Json, index: int) -> None:
    _append(spec, "resourceClaims").append({"name": f"c-{index}", "resourceClaimName": f"claim-{index}"})


def _containers(spec: Json, index: int) -> None:
    resources = {"requests": {"cpu": f"{index % 7}u", "memory": f"{index}"}}
    spec["containers"].append({"name": f"c-{index}", "image": f"image-{index}", "resources": resources})


def _init_containers(spec: Json, index: int) -> None:
    resources = {"requests": {"cpu": f"{index % 7}u", "memory": f"{index}"}}
    container = {"name": f"i-{index}", "image": f"image-{index}", "resources": resources}
    _append(spec, "initContainers").append({**container, "restartPolicy": "Always"} if index % 2 else container)


def _gates(spec: Json, index: int) -> None:
    _append(spec, "schedulingGates").append({"name": f"example.com/gate-{index}"})


#: By kind of term.
KINDS: Final[dict[str, AddTerm]] = {
    "soft spread over many keys": _spread("ScheduleAnyway", "key-{}"),
    "soft spread over zones": _spread("ScheduleAnyway", ZONE),
    "soft spread with many label keys": _match_label_keys,
    "hard spread over many keys": _spread("DoNotSchedule", "key-{}"),
    "hard spread over hosts": _spread("DoNotSchedule", HOST),
    "hard spread of almost all pods": _hard_spread_of_almost_all,
    "required affinity": _required("podAffinity", ZONE),
    "required affinity with many keys": _required("podAffinity", "key-{}", "app-1"),
    "required anti-affinity": _required("podAntiAffinity", HOST),
    "required anti-affinity with many keys": _required("podAntiAffinity", "key-{}", "app-1"),
    "required anti-affinity to almost all pods": _common_selector("podAntiAffinity", "NotIn"),
    "required anti-affinity to pods without a label": _common_selector("podAntiAffinity", "DoesNotExist"),
    "required anti-affinity with two expressions": _two_expressions("podAntiAffinity"),
    "required affinity with two expressions": _two_expressions("podAffinity"),
    "required affinity to pods without labels": _common_selector("podAffinity", "DoesNotExist"),
    "preferred affinity": _preferred("podAffinity", ZONE),
    "preferred anti-affinity with many keys": _preferred("podAntiAffinity", "key-{}"),
    "preferred affinity to almost all pods": _preferred_common_selector,
    "affinity with a selector of many expressions": _many_expressions("podAffinity"),
    "anti-affinity with a selector of many expressions": _many_expressions("podAntiAffinity"),
    "anti-affinity with a selector of many values": _many_values("podAntiAffinity"),
    "anti-affinity with namespace selectors": _namespaces("podAntiAffinity"),
    "node affinity Gt": _node_terms("Gt"),
    "node affinity Lt": _node_terms("Lt"),
    "node affinity In": _node_terms("In"),
    "node affinity Exists with many keys": _node_terms("Exists", "key-{}"),
    "node affinity by name": _node_fields,
    "node affinity with many expressions Lt": _node_expressions("Lt"),
    "node affinity with many expressions NotIn": _node_expressions("NotIn"),
    "node affinity with many keys NotIn": _node_expressions("NotIn", "key-{}"),
    "node affinity In of many values": _node_values("In"),
    "node affinity NotIn of many values": _node_values("NotIn"),
    "preferred node affinity Gt": _preferred_node_terms("Gt"),
    "preferred node affinity NotIn": _preferred_node_terms("NotIn"),
    "node selector": _node_selector,
    "tolerations": _tolerations,
    "tolerations of PreferNoSchedule": _preferring_tolerations,
    "extended resources": _resources,
    "extended resources of init containers": _init_resources,
    "host ports": _host_ports,
    "claimed volumes": _claimed_volumes,
    "disks": _disks,
    "ephemeral volumes": _ephemeral_volumes,
    "resource claims": _resource_claims,
    "containers": _containers,
    "init containers": _init_containers,
    "scheduling gates": _gates,
}


def large_pod(kind: str, size: int, *, priority: int = 0) -> Json:
    """Return the manifest of a pod with as many terms of the kind as fit into `size` bytes of JSON."""
    spec: Json = {"containers": [{"name": "c", "image": "i"}], "schedulerName": "default-scheduler"}
    spec["priority"] = priority
    for terms in _growing(kind, size, spec):
        if terms:
            break
    labels = {"app": "large", **spec.pop(LABELS, {})}
    meta = {"name": "large", "namespace": "default", "uid": "large", "creationTimestamp": "2030-01-01T00:00:00Z"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**meta, "labels": labels}, "spec": spec}


def _growing(kind: str, size: int, spec: Json) -> Iterator[bool]:
    """Add terms until the specification has `size` bytes; measured rarely, for that costs as much as the terms."""
    add, target = KINDS[kind], 16
    for index in count():
        add(spec, index)
        if index + 1 == target:
            bytes_each = len(json.dumps(spec)) / target
            if target * bytes_each >= size * 0.98:
                yield True
            target = max(target + 1, min(2 * target, int(size / bytes_each)))
        yield False
