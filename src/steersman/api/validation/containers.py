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
    Fields,
    at_most_items,
    check_fields,
    config_map_key,
    descending_path,
    dns1123_subdomain,
    env_var_name,
    http_header_name,
    name_label,
    name_subdomain,
    non_negative,
    one_of,
    optional,
    path_without_backsteps,
    port_name,
    port_number,
    port_number_or_name,
    required,
    with_format,
)
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.resources import resource_requirements
from steersman.api.validation.security import container_security_context
from steersman.api.validation.volumes import field_reference, resource_reference

PULL_POLICY: Final = required(one_of("Always", "IfNotPresent", "Never"))
NOT_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"
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
_EPHEMERAL_FORBIDDEN: Final = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_RESTART_POLICY: Final = one_of("Always", "Never", "OnFailure")
_RULES_NEED_POLICY: Final = "must specify restartPolicy when restart rules are used"
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


def _key_reference(path: str, reference: Document) -> Iterator[FieldError]:
    yield from name_subdomain(f"{path}.name", reference.get("name") or "")
    yield from required(with_format(config_map_key))(f"{path}.key", reference.get("key"))


_FILE_KEY: Final[Fields] = {
    "key": required(with_format(env_var_name)),
    "volumeName": required(name_label),
    "path": required(path_without_backsteps),
}
_VALUE_SOURCES: Final[Mapping[str, Check]] = {
    "fieldRef": lambda path, value: field_reference(path, value, _ENV_FIELD_PATHS),
    "resourceFieldRef": lambda path, value: resource_reference(path, value, in_volume=False),
    "configMapKeyRef": _key_reference,
    "secretKeyRef": _key_reference,
    "fileKeyRef": lambda path, value: check_fields(value, _FILE_KEY, path),
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


_PORT: Final = required(port_number)
_PROTOCOL: Final = required(one_of("SCTP", "TCP", "UDP"))


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
        yield from _PORT(f"{place}.containerPort", port.get("containerPort") or None)
        if port.get("hostPort"):
            yield from port_number(f"{place}.hostPort", port["hostPort"])
        yield from _PROTOCOL(f"{place}.protocol", port.get("protocol"))


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


def _http_get(path: str, action: Document) -> Iterator[FieldError]:
    yield from required()(f"{path}.path", action.get("path"))
    yield from port_number_or_name(f"{path}.port", action.get("port", 0))
    yield from one_of("HTTP", "HTTPS")(f"{path}.scheme", action.get("scheme") or "")
    for header in elements(action, "httpHeaders"):
        yield from with_format(http_header_name)(f"{path}.httpHeaders", header.get("name") or "")


def _handler(path: str, handler: Document, grace_period: int | None) -> Iterator[FieldError]:
    actions: Mapping[str, Check] = {
        "exec": lambda place, action: required()(f"{place}.command", action.get("command")),
        "httpGet": _http_get,
        "tcpSocket": lambda place, action: port_number_or_name(f"{place}.port", action.get("port", 0)),
        "grpc": lambda place, action: port_number(f"{place}.port", action.get("port", 0)),
        "sleep": lambda place, action: _sleep(place, action.get("seconds") or 0, grace_period),
    }
    found = [name for name in actions if handler.get(name) is not None]
    for name in found:
        if name != found[0]:
            yield FieldError.forbidden(f"{path}.{name}", "may not specify more than 1 handler type")
        else:
            yield from actions[name](f"{path}.{name}", handler[name])
    if not found:
        yield FieldError.required(path, "must specify a handler type")


def _sleep(path: str, seconds: int, grace_period: int | None) -> Iterator[FieldError]:
    if grace_period is not None and not 0 <= seconds <= grace_period:
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
        yield FieldError.invalid(path, seconds, detail)


_PROBE_NUMBERS: Final[Fields] = {
    f"{name}{suffix}": non_negative
    for name, suffix in (
        ("initialDelay", "Seconds"),
        ("timeout", "Seconds"),
        ("period", "Seconds"),
        ("success", "Threshold"),
        ("failure", "Threshold"),
    )
}


def _probe(path: str, name: str, probe: Document, context: ContainerContext) -> Iterator[FieldError]:
    yield from _handler(path, probe, context.grace_period)
    yield from check_fields(probe, _PROBE_NUMBERS, path)
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        yield FieldError.invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")
    if name == "readinessProbe":
        if grace is not None:
            detail = "must not be set for readinessProbes"
            yield FieldError.invalid(f"{path}.terminationGracePeriodSeconds", grace, detail)
    elif (probe.get("successThreshold") or 0) != 1:
        yield FieldError.invalid(f"{path}.successThreshold", probe.get("successThreshold") or 0, "must be 1")


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


_CONTAINER_FIELDS: Final[Fields] = {
    "name": required(name_label),
    "image": required(),
    "terminationMessagePolicy": required(one_of("File", "FallbackToLogsOnError")),
}


def _container(path: str, container: Document, context: ContainerContext) -> Iterator[FieldError]:
    """Yield the errors common to regular, init and ephemeral containers."""
    yield from check_fields(container, _CONTAINER_FIELDS, path)
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
    rules, policy = elements(container, "restartPolicyRules"), container.get("restartPolicy")
    if policy is not None:
        yield from _RESTART_POLICY(f"{path}.restartPolicy", policy)
    elif rules:
        yield FieldError.required(f"{path}.restartPolicy", _RULES_NEED_POLICY)
    yield from at_most_items(20)(f"{path}.restartPolicyRules", rules)
    for index, rule in enumerate(rules):
        place, codes = f"{path}.restartPolicyRules[{index}]", rule.get("exitCodes")
        yield from one_of("Restart", "RestartAllContainers")(f"{place}.action", rule.get("action") or "")
        if codes is None:
            yield FieldError.required(f"{place}.exitCodes", "must be specified")
        else:
            yield from one_of("In", "NotIn")(f"{place}.exitCodes.operator", codes.get("operator") or "")
            yield from at_most_items(255)(f"{place}.exitCodes.values", elements(codes, "values"))


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
            yield FieldError.required(f"{place}.restartPolicy", _RULES_NEED_POLICY)
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
        for forbidden in _EPHEMERAL_FORBIDDEN:
            value = container.get(forbidden)
            if value or (value is not None and forbidden != "resources"):
                yield FieldError.forbidden(f"{place}.{forbidden}", NOT_EPHEMERAL)
        for number, mount in enumerate(elements(container, "volumeMounts")):
            for forbidden in ("subPath", "subPathExpr"):
                if mount.get(forbidden):
                    yield FieldError.forbidden(f"{place}.volumeMounts[{number}].{forbidden}", NOT_EPHEMERAL)


def trimmed_image(path: str, container: Document) -> Iterator[FieldError]:
    """Yield an error for an image with surrounding whitespace (pods only, not pod templates)."""
    image = container.get("image") or ""
    if image.strip() != image:
        yield FieldError.invalid(f"{path}.image", image, "must not have leading or trailing whitespace")
