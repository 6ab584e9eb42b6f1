# SPDX-License-Identifier: Apache-2.0
"""Defaults of pod templates, on their JSON: what a kube-apiserver fills in before it stores a Deployment or a Job.

Filled-in templates can be compared: one that names a default is the same as one that leaves it out, so that applying a
manifest again rolls nothing. Fields of a type that does not belong there are passed over; whoever reads the template says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

_Part: TypeAlias = dict[str, Any]

_CONTAINER_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_DEFAULTS: Final = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_FILE_VOLUMES: Final = ("secret", "configMap", "downwardAPI", "projected")
_FILE_MODE: Final = 0o644
_TOKEN_SECONDS: Final = 3600


def with_template_defaults(template: _Part) -> _Part:
    """The template, filled in; an empty one, which a server would refuse, stays empty."""
    spec = template.get("spec")
    return {**template, "spec": with_pod_spec_defaults(spec)} if isinstance(spec, dict) else template


def with_pod_spec_defaults(spec: _Part) -> _Part:
    """The spec of a pod or of a template, with all that is filled in for both."""
    filled = _filled(
        spec,
        dnsPolicy="ClusterFirst",
        restartPolicy="Always",
        securityContext={},
        schedulerName="default-scheduler",
    )
    if filled.get("terminationGracePeriodSeconds") is None:
        filled["terminationGracePeriodSeconds"] = 30  # zero is a period, too
    if filled.get("serviceAccountName") and not filled.get("serviceAccount"):
        filled["serviceAccount"] = filled["serviceAccountName"]
    for name in _CONTAINER_LISTS:
        _change_each(filled, name, _container)
    _change_each(filled, "volumes", _volume)
    return filled


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
    """`Always` for the tag latest, which is also that of an image without tag and digest."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


def _env(variable: _Part) -> _Part:
    filled = dict(variable)
    _change(filled, "valueFrom", lambda source: _changed(source, "fieldRef", lambda ref: _filled(ref, apiVersion="v1")))
    _change(
        filled, "valueFrom", lambda source: _changed(source, "resourceFieldRef", lambda ref: _filled(ref, divisor="0"))
    )
    return filled


def _probe(probe: _Part) -> _Part:
    filled = _handler(_filled(probe, **_PROBE_DEFAULTS))
    _change(filled, "grpc", lambda grpc: _filled(grpc, service=""))
    return filled


def _lifecycle(lifecycle: _Part) -> _Part:
    return _changed(_changed(lifecycle, "postStart", _handler), "preStop", _handler)


def _handler(handler: _Part) -> _Part:
    return _changed(handler, "httpGet", lambda get: _filled(get, path="/", scheme="HTTP"))


def _volume(volume: _Part) -> _Part:
    filled = dict(volume)
    if not any(value is not None for name, value in volume.items() if name != "name"):
        filled["emptyDir"] = {}
    for name in _FILE_VOLUMES:
        _change(filled, name, lambda source: {"defaultMode": _FILE_MODE, **source})
    _change(filled, "projected", lambda source: _each_changed(source, "sources", _projection))
    _change(filled, "downwardAPI", lambda source: _each_changed(source, "items", _downward_file))
    _change(filled, "hostPath", lambda source: {**source, "type": source.get("type") or ""})
    _change(filled, "image", lambda source: _filled(source, pullPolicy=_pull_policy(str(source.get("reference", "")))))
    _change(filled, "ephemeral", lambda source: _changed(source, "volumeClaimTemplate", _claim_template))
    return filled


def _projection(source: _Part) -> _Part:
    filled = _changed(source, "serviceAccountToken", lambda token: _filled(token, expirationSeconds=_TOKEN_SECONDS))
    return _changed(filled, "downwardAPI", lambda files: _each_changed(files, "items", _downward_file))


def _downward_file(item: _Part) -> _Part:
    return _changed(item, "fieldRef", lambda ref: _filled(ref, apiVersion="v1"))


def _claim_template(template: _Part) -> _Part:
    return _changed(template, "spec", lambda spec: _filled(spec, volumeMode="Filesystem"))


def _filled(part: _Part, **defaults: Any) -> _Part:
    """A copy with a value for each of the fields that say nothing."""
    missing = {name: value for name, value in defaults.items() if part.get(name) in (None, "", 0)}
    return {**part, **missing}


def _changed(part: _Part, name: str, change: Callable[[_Part], _Part]) -> _Part:
    copied = dict(part)
    _change(copied, name, change)
    return copied


def _each_changed(part: _Part, name: str, change: Callable[[_Part], _Part]) -> _Part:
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
        part[name] = list(_each(values, change))


def _each(values: Iterable[Any], change: Callable[[_Part], _Part]) -> Iterable[Any]:
    return (change(value) if isinstance(value, dict) else value for value in values)
