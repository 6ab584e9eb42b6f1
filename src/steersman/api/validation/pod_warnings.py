# SPDX-License-Identifier: Apache-2.0
"""Warnings about valid pods and pod templates (upstream: `pkg/api/pod/warnings.go`).

`warnings` calls `pod_warnings` for new pods and for new or changed pod templates of workloads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from steersman.api import quantity
from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import label_value, parse_cidr, parse_ip
from steersman.api.validation.resources import amount, shown_amount

NODE_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
"""Deprecated node labels and their warnings."""
VOLUME_SOURCES: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
"""Deprecated volume sources and their warnings."""
_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_APPARMOR: Final = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_APPARMOR_CONTAINER: Final = "container.apparmor.security.beta.kubernetes.io/"
_NO_SELECTOR: Final = "a null labelSelector results in matching no pod"


def pod_warnings(path: str, pod: Document) -> Iterator[str]:
    """Yield the warnings about a pod (path "") or a pod template (path `spec.template`)."""
    prefix, spec = f"{path}." if path else "", part(pod, "spec")
    place, annotations = f"{prefix}spec", part(pod, "metadata", "annotations")
    yield from _node_labels(place, spec)
    for index, constraint in enumerate(elements(spec, "topologySpreadConstraints")):
        where, key = f"{place}.topologySpreadConstraints[{index}]", constraint.get("topologyKey")
        yield from (f"{where}.topologyKey: {key} is {text}" for text in [NODE_LABELS.get(key)] if text)
        yield from [f"{where}.labelSelector: {_NO_SELECTOR}"] if constraint.get("labelSelector") is None else []
    yield from annotation_warnings(f"{prefix}metadata.annotations", annotations, _ANNOTATIONS)
    for index, volume in enumerate(elements(spec, "volumes")):
        yield from _volume(f"{place}.volumes[{index}]", volume)
    for volume in elements(spec, "volumes"):
        yield from _overlapping_paths(volume)
    yield from _repeated(f"{place}.hostAliases", elements(spec, "hostAliases"), "ip")
    secrets = elements(spec, "imagePullSecrets")
    yield from _repeated(f"{place}.imagePullSecrets", secrets, "name")
    for index, secret in enumerate(secrets):
        yield from [f'{place}.imagePullSecrets[{index}].name: invalid empty name ""'] if not secret.get("name") else []
    yield from fractional_bytes(f"{place}.overhead", part(spec, "overhead"), "memory", "ephemeral-storage")
    if part(spec, "securityContext").get("seccompProfile") is None:
        yield from annotation_warnings(f"{prefix}metadata.annotations", annotations, {_SECCOMP_POD: _SECCOMP})
    containers = [
        (f"{place}.{field}[{index}]", container)
        for field in ("initContainers", "containers", "ephemeralContainers")
        for index, container in enumerate(elements(spec, field))
    ]
    for where, container in containers:
        yield from _annotated_profiles(path, container, spec, annotations)
        yield from _container(where, container)
    yield from _ports(
        [(f"{at}.ports[{n}]", port) for at, c in containers for n, port in enumerate(elements(c, "ports"))]
    )
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        yield f"{place}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
    yield from _affinity_terms(f"{place}.affinity", part(spec, "affinity"))
    for index, server in enumerate(elements(spec, "dnsConfig", "nameservers")):
        yield from ip_warnings(f"{place}.dnsConfig.nameservers[{index}]", server)
    for index, alias in enumerate(elements(spec, "hostAliases")):
        yield from ip_warnings(f"{place}.hostAliases[{index}].ip", alias.get("ip"))


# -- shared with other kinds -----------------------------------------------------------------------


def ip_warnings(path: str, value: Any) -> Iterator[str]:
    """Yield a warning if an IPv6 address is not in canonical form."""
    address = parse_ip(str(value))
    if ":" in str(value) and str(address) != value:
        yield f'{path}: IPv6 address "{value}" should be in RFC 5952 canonical format ("{address}")'


def cidr_warnings(path: str, value: Any) -> Iterator[str]:
    """Yield a warning if an IPv6 CIDR is not in canonical form."""
    network = parse_cidr(str(value))
    if ":" in str(value) and str(network) != value:
        yield f'{path}: IPv6 CIDR value "{value}" should be in RFC 5952 canonical format ("{network}")'


def annotation_warnings(path: str, annotations: Document, deprecated: dict[str, str]) -> Iterator[str]:
    """Yield a warning about each deprecated annotation."""
    yield from (f"{path}[{name}]: {text}" for name, text in deprecated.items() if name in annotations)


def fractional_bytes(path: str, amounts: Document, *names: str) -> Iterator[str]:
    """Yield a warning about each quantity with a fractional number of bytes."""
    for name in names:
        if name in amounts and quantity.milli_value(amount(amounts[name])) % 1000:
            shown = shown_amount(amounts[name])
            yield f'{path}[{name}]: fractional byte value "{shown}" is invalid, must be an integer'


def claim_spec_warnings(path: str, spec: Document) -> Iterator[str]:
    """Yield the warnings about the spec of a PersistentVolumeClaim."""
    for name in ("requests", "limits"):
        yield from fractional_bytes(f"{path}.resources.{name}", part(spec, "resources", name), "storage")


def node_term_warnings(path: str, term: Document, *, checks_values: bool = False) -> Iterator[str]:
    """Yield the warnings about a node selector term."""
    for index, expression in enumerate(elements(term, "matchExpressions")):
        where, key = f"{path}.matchExpressions[{index}]", expression.get("key")
        yield from (f"{where}.key: {key} is {text}" for text in [NODE_LABELS.get(key)] if text)
        for number, value in enumerate(elements(expression, "values") if checks_values else ()):
            yield from (f"{where}.values[{number}]: {value} is invalid, {text}" for text in label_value(value))


# -- parts of pods ---------------------------------------------------------------------------------


def _node_labels(path: str, spec: Document) -> Iterator[str]:
    yield from annotation_warnings(f"{path}.nodeSelector", part(spec, "nodeSelector"), NODE_LABELS)
    affinity, where = part(spec, "affinity", "nodeAffinity"), f"{path}.affinity.nodeAffinity"
    name = "requiredDuringSchedulingIgnoredDuringExecution"
    for index, term in enumerate(elements(affinity, name, "nodeSelectorTerms")):
        yield from node_term_warnings(f"{where}.{name}.nodeSelectorTerms[{index}]", term)
    name = "preferredDuringSchedulingIgnoredDuringExecution"
    for index, weighted in enumerate(elements(affinity, name)):
        term = part(weighted, "preference")
        yield from node_term_warnings(f"{where}.{name}[{index}].preference", term, checks_values=True)


def _volume(path: str, volume: Document) -> Iterator[str]:
    shown = {"storageos": "storageOS"}
    sources = [name for name in VOLUME_SOURCES if volume.get(name) is not None]
    yield from (f"{path}.{shown.get(name, name)}: {VOLUME_SOURCES[name]}" for name in sources)
    template = part(volume, "ephemeral", "volumeClaimTemplate", "spec")
    yield from claim_spec_warnings(f"{path}.ephemeral.volumeClaimTemplate.spec", template)


def _overlapping_paths(volume: Document) -> Iterator[str]:
    """Yield a warning about each pair of overlapping files in a volume, and each empty source."""
    name = volume.get("name")
    for field, kind, key in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
        source = part(volume, field)
        files = [(item.get("path") or "", "") for item in elements(source, "items")]
        described = f"{kind} {json.dumps(source.get(key) or '')}"
        yield from (f'volume "{name}" ({described}): overlapping paths: {found}' for found in _overlaps(files))
    files = [(item.get("path") or "", "") for item in elements(volume, "downwardAPI", "items")]
    yield from (f'volume "{name}" (DownwardAPI): overlapping paths: {found}' for found in _overlaps(files))
    sources = elements(volume, "projected", "sources")
    for source in sources:
        if not any(value is not None for value in source.values()):
            yield f'volume "{name}" (Projected) has no sources provided'
    files = [file for source in sources for file in _projected_files(source)]
    yield from (f'volume "{name}" (Projected): overlapping paths: {found}' for found in _overlaps(files))


def _projected_files(source: Document) -> list[tuple[str, str]]:
    if source.get("serviceAccountToken") is not None:
        return [(part(source, "serviceAccountToken").get("path") or "", "ServiceAccountToken")]
    kinds = {"configMap": "ConfigMap", "secret": "Secret", "downwardAPI": "DownwardAPI"}
    field = next((name for name in kinds if elements(source, name, "items")), "")
    named = f" {json.dumps(part(source, field).get('name') or '')}" if field != "downwardAPI" else ""
    return [(item.get("path") or "", f"{kinds[field]}{named}") for item in elements(source, field, "items")]


def _overlaps(files: list[tuple[str, str]]) -> Iterator[str]:
    """Yield descriptions of pairs of paths that are equal or inside each other."""
    earlier = list[tuple[str, str]]()
    for path, source in files:
        file = (path.rstrip("/"), source)
        for other in earlier:
            longer, shorter = sorted((f"{file[0]}/", f"{other[0]}/"), key=len, reverse=True)
            if file[0] and other[0] and longer.startswith(shorter):
                yield f"{_shown_file(*file)} with {_shown_file(*other)}"
        earlier.append(file)


def _shown_file(path: str, source: str) -> str:
    return f"{json.dumps(path)} ({source})" if source else json.dumps(path)


def _repeated(path: str, items: list[Document], key: str) -> Iterator[str]:
    seen = set[str]()
    for index, item in enumerate(items):
        value = item.get(key) or ""
        yield from [f"{path}[{index}].{key}: duplicate {key} {json.dumps(value)}"] if value in seen else []
        seen.add(value)


def _annotated_profiles(path: str, container: Document, spec: Document, annotations: Document) -> Iterator[str]:
    """Yield warnings about seccomp (in templates also AppArmor) annotations without a field."""
    where, context = (
        f"{path}.metadata.annotations" if path else "metadata.annotations",
        part(container, "securityContext"),
    )
    name = container.get("name") or ""
    if context.get("seccompProfile") is None:
        yield from annotation_warnings(where, annotations, {_SECCOMP_CONTAINER + name: _SECCOMP})
    profile = part(spec, "securityContext").get("appArmorProfile")
    is_same = profile is not None and profile == _apparmor_profile(annotations.get(_APPARMOR_CONTAINER + name) or "")
    if path and context.get("appArmorProfile") is None and not is_same:
        yield from annotation_warnings(where, annotations, {_APPARMOR_CONTAINER + name: _APPARMOR})


def _apparmor_profile(annotation: str) -> Document | None:
    if annotation.startswith("localhost/"):
        return {"type": "Localhost", "localhostProfile": annotation.removeprefix("localhost/")}
    kinds = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault"}
    return {"type": kinds[annotation]} if annotation in kinds else None


def _container(path: str, container: Document) -> Iterator[str]:
    for name in ("memory", "ephemeral-storage"):
        for field in ("limits", "requests"):
            yield from fractional_bytes(f"{path}.resources.{field}", part(container, "resources", field), name)
    seen = set[str]()
    for index, variable in enumerate(elements(container, "env")):
        name, value = variable.get("name") or "", variable.get("value") or ""
        extends = f"$({name})" in value and value != f"$({name})" and variable.get("valueFrom") is None
        if name in seen and not extends:
            hidden = f"hides previous definition of {json.dumps(name)}, which may be dropped when using apply"
            yield f"{path}.env[{index}]: {hidden}"
        seen.add(name)


def _ports(ports: list[tuple[str, Document]]) -> Iterator[str]:
    """Yield warnings about container ports: `hostIP` without port, overlaps, duplicate names."""
    known = dict[tuple[Any, Any], list[tuple[str, Document]]]()
    for path, port in ports:
        if port.get("hostIP") and not port.get("hostPort"):
            yield f"{path}: hostIP set without hostPort: {_go_port(port)}"
        others = known.setdefault((port.get("containerPort"), port.get("protocol")), [])
        for where, other in others:
            yield from (f"{path}: {kind} port definition with {where}" for kind in _port_conflicts(port, other))
        others.append((path, port))
    names = dict[str, str]()
    for path, port in ports:
        name = port.get("name")
        if name and names.setdefault(name, path) != path:
            first = names[name]
            effect = f"services and probes that select ports by name will use {first}"
            yield f"{path}: duplicate port name {json.dumps(name)} with {first}, {effect}"


def _port_conflicts(port: Document, other: Document) -> Iterator[str]:
    (address, number), (other_address, other_number) = (
        (one.get("hostIP") or "", one.get("hostPort") or 0) for one in (port, other)
    )
    if (address, number) == (other_address, other_number):
        yield "duplicate"
    elif not (number and other_number):
        yield "overlapping"
    elif number == other_number and bool(address) != bool(other_address):
        yield "dangerously ambiguous"


def _go_port(port: Document) -> str:
    fields = {"Name": "name", "HostPort": "hostPort", "ContainerPort": "containerPort", "Protocol": "protocol"}
    numbers = ("hostPort", "containerPort")
    shown = [f"{name}:{port.get(key) or (0 if key in numbers else '')}" for name, key in fields.items()]
    return f"{{{' '.join(shown)} HostIP:{port.get('hostIP') or ''}}}"


def _affinity_terms(path: str, affinity: Document) -> Iterator[str]:
    for kind in ("podAffinity", "podAntiAffinity"):
        for name, step in (("required", ""), ("preferred", "podAffinityTerm")):
            field = f"{name}DuringSchedulingIgnoredDuringExecution"
            for index, term in enumerate(elements(affinity, kind, field)):
                if (part(term, step) if step else term).get("labelSelector") is None:
                    where = f"{path}.{kind}.{field}[{index}]{'.' if step else ''}{step}"
                    yield f"{where}.labelSelector: {_NO_SELECTOR}"
