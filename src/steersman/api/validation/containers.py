# SPDX-License-Identifier: Apache-2.0
"""Rules of regular, init and ephemeral containers (upstream: `validateContainers` etc.).

`ContainerContext` holds the fields of the pod that these rules depend on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import (
    Check,
    descending_path,
    dns1123_subdomain,
    env_var_name,
    http_header_name,
    one_of,
    optional,
    port_name,
    required,
    with_format,
)
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.resources import resource_requirements
from steersman.api.validation.rule_table import Rules
from steersman.api.validation.security import container_security_context
from steersman.api.validation.volumes import field_reference, resource_reference

PULL_POLICY: Final = required(one_of("Always", "IfNotPresent", "Never"))
_ENV_FIELD_PATHS: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_SEVERAL_FIELDS: Final = "may not have more than one field specified at a time"


class ContainerContext(msgspec.Struct, frozen=True):
    """Fields of a pod that the rules of its containers depend on."""

    #: Valid volumes by name.
    volumes: Mapping[str, Document]
    #: Names of the pod's resource claims.
    claims: frozenset[str]
    restart_policy: str
    grace_period: int | None
    host_users: bool


# -- environment -----------------------------------------------------------------------------------


def _env(path: str, variables: list[Any]) -> Iterator[FieldError]:
    for index, variable in enumerate(variables):
        yield from required(with_format(env_var_name))(f"{path}[{index}].name", variable.get("name"))
        if variable.get("valueFrom") is not None:
            yield from _value_from(f"{path}[{index}].valueFrom", variable)


def _value_from(path: str, variable: Document) -> Iterator[FieldError]:
    source = variable["valueFrom"]
    count = 0
    for name, check in _VALUE_SOURCES.items():
        if source.get(name) is not None:
            count += 1
            yield from check(f"{path}.{name}", source[name])
    if not count:
        known = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        yield FieldError.invalid(path, "", f"must specify one of: {known}")
    elif variable.get("value"):
        yield FieldError.invalid(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        yield FieldError.invalid(path, "", _SEVERAL_FIELDS)


_VALUE_SOURCES: Final[Mapping[str, Check]] = {
    "fieldRef": lambda path, value: field_reference(path, value, _ENV_FIELD_PATHS),
    "resourceFieldRef": lambda path, value: resource_reference(path, value, in_volume=False),
    "configMapKeyRef": lambda path, value: _rules("key_reference", path, value),
    "secretKeyRef": lambda path, value: _rules("key_reference", path, value),
    "fileKeyRef": lambda path, value: _rules("file_key_reference", path, value),
}


def _env_from(path: str, sources: list[Any]) -> Iterator[FieldError]:
    for index, source in enumerate(sources):
        yield from optional(with_format(env_var_name))(f"{path}[{index}].prefix", source.get("prefix"))
        present = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for name in present:
            place, text = f"{path}[{index}].{name}.name", source[name].get("name") or ""
            if not text:
                yield FieldError.required(place)
            for complaint in dns1123_subdomain(f"{text[:-1]}a" if text.endswith("-") else text) if text else ():
                yield FieldError.invalid(place, text, complaint)
        if len(present) != 1:
            detail = _SEVERAL_FIELDS if present else "must specify one of: `configMapRef` or `secretRef`"
            yield FieldError.invalid(path, "", detail)


# -- ports, mounts and devices ---------------------------------------------------------------------


def _ports(path: str, ports: list[Any]) -> Iterator[FieldError]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        place, name = f"{path}[{index}]", port.get("name") or ""
        complaints = port_name(name) if name else []
        for complaint in complaints:
            yield FieldError.invalid(f"{place}.name", name, complaint)
        if name in names:
            yield FieldError.duplicate(f"{place}.name", name)
        if name and not complaints:
            names.add(name)
        yield from _rules("container_port", place, port)


def _host_port_conflicts(path: str, containers: list[Any]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(elements(container, "ports")):
            if port.get("hostPort"):
                text = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{port['hostPort']}"
                if text in seen:
                    yield FieldError.duplicate(f"{path}[{index}].ports[{number}].hostPort", text)
                seen.add(text)


def _mounts(path: str, container: Document, context: ContainerContext) -> Iterator[FieldError]:
    devices = {device.get("name"): device.get("devicePath") for device in elements(container, "volumeDevices")}
    device_paths, paths = set(devices.values()), set[str]()
    for index, mount in enumerate(elements(container, "volumeMounts")):
        place, name, target = f"{path}[{index}]", mount.get("name") or "", mount.get("mountPath") or ""
        yield from required()(f"{place}.name", name)
        if name not in context.volumes:
            yield FieldError.not_found(f"{place}.name", name)
        yield from required()(f"{place}.mountPath", target)
        if target in paths:
            yield FieldError.invalid(f"{place}.mountPath", target, "must be unique")
        paths.add(target)
        if name in devices:
            yield FieldError.invalid(f"{place}.name", name, "must not already exist in volumeDevices")
        if target in device_paths:
            yield FieldError.invalid(f"{place}.mountPath", target, "must not already exist as a path in volumeDevices")
        yield from _mount_options(path, place, mount, container)


def _mount_options(path: str, place: str, mount: Document, container: Document) -> Iterator[FieldError]:
    """Yield the errors of subpaths and propagation; upstream omits the index in most paths."""
    below, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
    yield from optional(descending_path)(f"{path}.subPath", below)
    if below and expression:
        detail = "subPathExpr and subPath are mutually exclusive"
        yield FieldError.invalid(f"{place}.subPathExpr", expression, detail)
    yield from optional(descending_path)(f"{path}.subPathExpr", expression)
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        yield from one_of("Bidirectional", "HostToContainer", "None")(f"{path}.mountPropagation", propagation)
        if propagation == "Bidirectional" and not part(container, "securityContext").get("privileged"):
            detail = "Bidirectional mount propagation is available only to privileged containers"
            yield FieldError.forbidden(f"{path}.mountPropagation", detail)
    recursive = mount.get("recursiveReadOnly")
    if recursive in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            yield FieldError.forbidden(f"{path}.recursiveReadOnly", "may only be specified when readOnly is true")
        if propagation not in (None, "None"):
            detail = "may only be specified when mountPropagation is None or not specified"
            yield FieldError.forbidden(f"{path}.recursiveReadOnly", detail)
    elif recursive is not None:
        yield from one_of("Disabled", "Enabled", "IfPossible")(f"{path}.recursiveReadOnly", recursive)


def _devices(path: str, container: Document, context: ContainerContext) -> Iterator[FieldError]:
    mounts = {mount.get("name"): mount.get("mountPath") for mount in elements(container, "volumeMounts")}
    mount_paths, names, paths = set(mounts.values()), set[str](), set[str]()
    for index, device in enumerate(elements(container, "volumeDevices")):
        place, name, target = f"{path}[{index}]", device.get("name") or "", device.get("devicePath") or ""
        volume = context.volumes.get(name)
        yield from required()(f"{place}.name", name)
        if name in names:
            yield FieldError.invalid(f"{place}.name", name, "must be unique")
        if volume is None:
            yield FieldError.not_found(f"{place}.name", name)
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield FieldError.invalid(f"{place}.name", name, detail)
        yield from required()(f"{place}.devicePath", target)
        if target in paths:
            yield FieldError.invalid(f"{place}.devicePath", target, "must be unique")
        if ".." in target.split("/"):
            yield FieldError.invalid(f"{place}.devicePath", target, "can not contain backsteps ('..')")
        else:
            paths.add(target)
        if name in mounts:
            yield FieldError.invalid(f"{place}.name", name, "must not already exist in volumeMounts")
        if target in mount_paths:
            yield FieldError.invalid(f"{place}.devicePath", target, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)


# -- probes and lifecycle --------------------------------------------------------------------------


def _handler(path: str, handler: Document, grace_period: int | None) -> Iterator[FieldError]:
    found = [name for name in _HANDLERS if handler.get(name) is not None]
    for name in found:
        if name != found[0]:
            yield FieldError.forbidden(f"{path}.{name}", "may not specify more than 1 handler type")
        elif name == "sleep":
            yield from _sleep(f"{path}.sleep", handler["sleep"].get("seconds") or 0, grace_period)
        else:
            yield from _rules(f"handler {name}", f"{path}.{name}", handler[name])
    if not found:
        yield FieldError.required(path, "must specify a handler type")


def _header_name(path: str, header: Document) -> Iterator[FieldError]:
    yield from with_format(http_header_name)(path, header.get("name") or "")


def _success_threshold(path: str, count: int) -> Iterator[FieldError]:
    if count != 1:
        yield FieldError.invalid(path, count, "must be 1")


def _sleep(path: str, seconds: int, grace_period: int | None) -> Iterator[FieldError]:
    if grace_period is not None and not 0 <= seconds <= grace_period:
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
        yield FieldError.invalid(path, seconds, detail)


def _probe(path: str, name: str, probe: Document, context: ContainerContext) -> Iterator[FieldError]:
    yield from _handler(path, probe, context.grace_period)
    yield from _rules("probe", path, probe)
    yield from _rules("readiness_probe" if name == "readinessProbe" else "other_probe", path, probe)


def _hooks_and_probes(path: str, container: Document, context: ContainerContext) -> Iterator[FieldError]:
    lifecycle = part(container, "lifecycle")
    for name in ("postStart", "preStop"):
        if lifecycle.get(name) is not None:
            yield from _handler(f"{path}.lifecycle.{name}", lifecycle[name], context.grace_period)
    for name in _PROBES:
        if container.get(name) is not None:
            yield from _probe(f"{path}.{name}", name, container[name], context)


# -- containers ------------------------------------------------------------------------------------


def _resize_policies(path: str, container: Document, context: ContainerContext) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, policy in enumerate(elements(container, "resizePolicy")):
        name, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if name in seen:
            yield FieldError.duplicate(f"{path}[{index}]", name)
        seen.add(name)
        yield from required(one_of("cpu", "memory"))(path, name)
        yield from required(one_of("NotRequired", "RestartContainer"))(path, restart)
        if context.restart_policy == "Never" and restart != "NotRequired":
            detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            yield FieldError.invalid(path, restart, detail)


def _container(path: str, container: Document, context: ContainerContext) -> Iterator[FieldError]:
    """Yield the errors common to regular, init and ephemeral containers."""
    yield from _rules("container", path, container)
    yield from _ports(f"{path}.ports", elements(container, "ports"))
    yield from _env(f"{path}.env", elements(container, "env"))
    yield from _env_from(f"{path}.envFrom", elements(container, "envFrom"))
    yield from _mounts(f"{path}.volumeMounts", container, context)
    yield from _devices(f"{path}.volumeDevices", container, context)
    yield from PULL_POLICY(f"{path}.imagePullPolicy", container.get("imagePullPolicy"))
    yield from resource_requirements(f"{path}.resources", part(container, "resources"), context.claims)
    yield from _resize_policies(f"{path}.resizePolicy", container, context)
    security = part(container, "securityContext")
    yield from container_security_context(f"{path}.securityContext", security, host_users=context.host_users)


def _restart_rules(path: str, container: Document) -> Iterator[FieldError]:
    yield from _rules("restart_rules", path, container)


def regular_containers(path: str, containers: list[Any], context: ContainerContext) -> Iterator[FieldError]:
    if not containers:
        yield FieldError.required(path)
        return
    names: set[str] = set()
    for index, container in enumerate(containers):
        place, name = f"{path}[{index}]", container.get("name") or ""
        yield from _container(place, container, context)
        if name in names:
            yield FieldError.duplicate(f"{place}.name", name)
        names.add(name)
        yield from _hooks_and_probes(place, container, context)
        yield from _restart_rules(place, container)
    yield from _host_port_conflicts(path, containers)


def init_containers(
    path: str, containers: list[Any], regular: list[Any], context: ContainerContext
) -> Iterator[FieldError]:
    names = {container.get("name") or "" for container in regular}
    for index, container in enumerate(containers):
        place, name, is_sidecar = (
            f"{path}[{index}]",
            container.get("name") or "",
            container.get("restartPolicy") == "Always",
        )
        yield from _container(place, container, context)
        if container.get("restartPolicy") is not None:
            yield from _restart_rules(place, container)
        elif elements(container, "restartPolicyRules"):
            yield FieldError.required(
                f"{place}.restartPolicy", "must specify restartPolicy when restart rules are used"
            )
        if name in names:
            yield FieldError.duplicate(f"{place}.name", name)
        elif name:
            names.add(name)
        yield from _host_port_conflicts(path, [container])
        if is_sidecar:
            yield from _hooks_and_probes(place, container, context)
            continue
        for forbidden in ("lifecycle", *_PROBES):
            if container.get(forbidden) is not None:
                detail = "may not be set for init containers without restartPolicy=Always"
                yield FieldError.forbidden(f"{place}.{forbidden}", detail)
        for number, policy in enumerate(elements(container, "resizePolicy")):
            if policy.get("restartPolicy") == "RestartContainer":
                detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                where = f"{place}.resizePolicy[{number}].restartPolicy"
                yield FieldError.invalid(where, "RestartContainer", detail)


def ephemeral_containers(path: str, spec: Document, context: ContainerContext) -> Iterator[FieldError]:
    others = {found.get("name") or "" for name in ("containers", "initContainers") for found in elements(spec, name)}
    names = set(others)
    for index, container in enumerate(elements(spec, "ephemeralContainers")):
        place, name = f"{path}[{index}]", container.get("name") or ""
        yield from _container(place, container, context)
        yield from trimmed_image(place, container)
        if name in names:
            yield FieldError.duplicate(f"{place}.name", name)
        names.add(name)
        target = container.get("targetContainerName")
        if target and target not in others:
            yield FieldError.not_found(f"{place}.targetContainerName", target)
        yield from _rules("ephemeral_container", place, container)


def trimmed_image(path: str, container: Document) -> Iterator[FieldError]:
    """Yield an error for an image with surrounding whitespace (pods only, not pod templates)."""
    image = container.get("image") or ""
    if image.strip() != image:
        yield FieldError.invalid(f"{path}.image", image, "must not have leading or trailing whitespace")


_rules: Final[Rules] = Rules(globals())
