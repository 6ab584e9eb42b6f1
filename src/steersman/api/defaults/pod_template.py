# SPDX-License-Identifier: Apache-2.0
"""Defaults of pods and pod templates in JSON form, as kube-apiserver sets them.

Templates with defaults can be compared: an explicit default equals an absent field, so that
applying a manifest again starts no rollout. Fields of a wrong type are left to decoders to report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from steersman.api.tolerations import NO_EXECUTE
from steersman.api.wellknown import DEFAULT_SCHEDULER_NAME

TOLERATION_SECONDS: Final = 300
NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"

_Part: TypeAlias = dict[str, Any]

_CONTAINER_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_DEFAULTS: Final = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_FILE_VOLUMES: Final = ("secret", "configMap", "downwardAPI", "projected")
_FILE_MODE: Final = 0o644
_TOKEN_SECONDS: Final = 3600
_DISABLED_PROJECTIONS: Final = ("clusterTrustBundle", "podCertificate")
"""Sources of projected volumes that are dropped because their feature gates are off."""
_STEP: Final = "[a-z0-9]+(?:(?:[.]|_|__|-+)[a-z0-9]+)*"
_HOST: Final = (
    "(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:[.][a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::[0-9]+)?"
)
_IMAGE_PATH: Final = re.compile(f"((?:{_HOST}/)?{_STEP}(?:/{_STEP})*)?")
"""Image name without tag and digest; may be empty, as simulations accept a missing image."""


def with_template_defaults(template: _Part) -> _Part:
    """Return the template with defaults; one without a spec, which is invalid, is unchanged."""
    spec = template.get("spec")
    return {**template, "spec": with_pod_spec_defaults(spec)} if isinstance(spec, dict) else template


def with_pod_spec_defaults(spec: _Part) -> _Part:
    """Return the pod spec with the defaults that pods and pod templates share."""
    filled = _filled(
        spec,
        dnsPolicy="ClusterFirst",
        restartPolicy="Always",
        securityContext={},
        schedulerName=DEFAULT_SCHEDULER_NAME,
    )
    if filled.get("terminationGracePeriodSeconds") is None:
        filled["terminationGracePeriodSeconds"] = 30  # 0 is a valid period
    account = filled.get("serviceAccountName") or filled.get("serviceAccount")
    if account:
        filled |= {"serviceAccountName": account, "serviceAccount": account}
    for name in _CONTAINER_LISTS:
        _change_each(filled, name, _container)
    _change_each(filled, "volumes", _volume)
    return filled


def with_pod_defaults(spec: _Part) -> _Part:
    """Return the pod spec with all defaults, including those that templates do not have: requests
    equal to limits, and host ports of pods with `hostNetwork`."""
    filled = {"enableServiceLinks": True, **with_pod_spec_defaults(spec)}

    def port(found: _Part) -> _Part:
        return {**found, "hostPort": found.get("hostPort") or found.get("containerPort") or 0}

    def container(found: _Part) -> _Part:
        found = changed(found, "resources", _with_requests)
        return each_changed(found, "ports", port) if spec.get("hostNetwork") else found

    for name in ("containers", "initContainers"):
        _change_each(filled, name, container)
    return filled


def with_pod_tolerations(spec: _Part) -> _Part:
    """Return the pod spec with the tolerations of failed nodes that admission adds."""
    tolerations = spec.get("tolerations") or []
    if not isinstance(tolerations, list):
        return spec
    return {**spec, "tolerations": [*tolerations, *_missing_tolerations(tolerations)]}


def _missing_tolerations(tolerations: list[Any]) -> Iterable[_Part]:
    """Yield the tolerations that DefaultTolerationSeconds adds: five minutes on failed nodes."""
    covered = {found.get("key") or "" for found in tolerations if (found.get("effect") or NO_EXECUTE) == NO_EXECUTE}
    for key in (NOT_READY, UNREACHABLE):
        if not covered & {key, ""}:
            yield {"key": key, "operator": "Exists", "effect": NO_EXECUTE, "tolerationSeconds": TOLERATION_SECONDS}


def _with_requests(resources: _Part) -> _Part:
    limits, requests = resources.get("limits"), resources.get("requests")
    if not isinstance(limits, dict) or not limits:
        return resources
    return {**resources, "requests": {**limits, **(requests if isinstance(requests, dict) else {})}}


def _container(container: _Part) -> _Part:
    image = container.get("image")
    filled = _filled(
        container,
        imagePullPolicy=_pull_policy(image if isinstance(image, str) else ""),
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        resources={},
    )
    _change_each(filled, "ports", lambda port: _filled(port, protocol="TCP"))
    _change_each(filled, "env", _env)
    for name in _PROBES:
        _change(filled, name, _probe)
    _change(filled, "lifecycle", _lifecycle)
    return filled


def _pull_policy(image: str) -> str:
    """Return `Always` for a valid image with tag `latest` or without tag and digest."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    is_latest = tag == "latest" or not (tag or digest)
    return (
        "Always"
        if is_latest and _IMAGE_PATH.fullmatch(name.removesuffix(f":{tag}") if tag else name)
        else "IfNotPresent"
    )


def _env(variable: _Part) -> _Part:
    filled = dict(variable)
    _change(filled, "valueFrom", lambda source: changed(source, "fieldRef", lambda ref: _filled(ref, apiVersion="v1")))
    _change(
        filled, "valueFrom", lambda source: changed(source, "resourceFieldRef", lambda ref: _filled(ref, divisor="0"))
    )
    return filled


def _probe(probe: _Part) -> _Part:
    filled = _handler(_filled(probe, **_PROBE_DEFAULTS))
    _change(filled, "grpc", lambda grpc: _filled(grpc, service=""))
    return filled


def _lifecycle(lifecycle: _Part) -> _Part:
    return changed(changed(lifecycle, "postStart", _handler), "preStop", _handler)


def _handler(handler: _Part) -> _Part:
    return changed(handler, "httpGet", lambda get: _filled(get, path="/", scheme="HTTP"))


def _volume(volume: _Part) -> _Part:
    filled = dict(volume)
    if not any(value is not None for name, value in volume.items() if name != "name"):
        filled["emptyDir"] = {}
    for name in _FILE_VOLUMES:
        _change(filled, name, lambda source: {"defaultMode": _FILE_MODE, **source})
    _change(filled, "projected", lambda source: each_changed(source, "sources", _projection))
    _change(filled, "downwardAPI", lambda source: each_changed(source, "items", _downward_file))
    _change(filled, "hostPath", lambda source: {**source, "type": source.get("type") or ""})
    for name, values in _VOLUME_DEFAULTS.items():
        _change(filled, name, lambda source, values=values: _filled(source, **values))  # type: ignore[misc]
    _change(filled, "image", lambda source: _filled(source, pullPolicy=_pull_policy(str(source.get("reference", "")))))
    _change(filled, "ephemeral", lambda source: changed(source, "volumeClaimTemplate", _claim_template))
    return filled


_VOLUME_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def _projection(source: _Part) -> _Part:
    source = {name: value for name, value in source.items() if name not in _DISABLED_PROJECTIONS}
    filled = changed(source, "serviceAccountToken", lambda token: _filled(token, expirationSeconds=_TOKEN_SECONDS))
    return changed(filled, "downwardAPI", lambda files: each_changed(files, "items", _downward_file))


def _downward_file(item: _Part) -> _Part:
    return changed(item, "fieldRef", lambda ref: _filled(ref, apiVersion="v1"))


def _claim_template(template: _Part) -> _Part:
    return changed({"metadata": {}, **template}, "spec", lambda spec: _filled(spec, volumeMode="Filesystem"))


def _filled(part: _Part, **defaults: Any) -> _Part:
    """Return a copy with a default for each absent field."""
    missing = {name: value for name, value in defaults.items() if part.get(name) is None}
    return {**part, **missing}


def changed(part: Mapping[str, Any], name: str, change: Callable[[_Part], _Part]) -> _Part:
    """Return a copy of `part` with `change` applied to the object in field `name`, if any."""
    copied = dict(part)
    _change(copied, name, change)
    return copied


def each_changed(part: Mapping[str, Any], name: str, change: Callable[[_Part], _Part]) -> _Part:
    """Return a copy of `part` with `change` applied to each object of the list `name`, if any."""
    copied = dict(part)
    _change_each(copied, name, change)
    return copied


def _change(part: _Part, name: str, change: Callable[[_Part], _Part]) -> None:
    value = part.get(name)
    if isinstance(value, dict):
        part[name] = change(value)


def _change_each(part: _Part, name: str, change: Callable[[_Part], _Part]) -> None:
    values = part.get(name)
    if isinstance(values, list):
        part[name] = [change(value) if isinstance(value, dict) else value for value in values]
