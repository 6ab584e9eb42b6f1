# SPDX-License-Identifier: Apache-2.0
"""Rules of security contexts and of fields that depend on the pod's OS (`core/validation`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import at_most_bytes, byte_length, descending_path
from steersman.api.validation.field_errors import FieldError, go_struct
from steersman.api.validation.rule_table import Rules

SYSCTL: Final = "([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_MAX_SYSCTL: Final = 253
_IPC_SYSCTLS: Final = ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")
_PROFILE_TYPES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_NETBIOS: Final = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_DOMAIN: Final = re.compile(
    r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*"
)
_MAX_CREDENTIAL_SPEC: Final = 64 * 1024
_CONTAINER_CONTEXT: Final = dict.fromkeys(
    (
        "Capabilities",
        "Privileged",
        "SELinuxOptions",
        "WindowsOptions",
        "RunAsUser",
        "RunAsGroup",
        "RunAsNonRoot",
        "ReadOnlyRootFilesystem",
        "AllowPrivilegeEscalation",
        "ProcMount",
        "SeccompProfile",
        "AppArmorProfile",
    )
)


def all_containers(spec: Document, path: str) -> Iterator[tuple[str, Document]]:
    """Yield each container of a pod with its path, in upstream's visiting order."""
    for name in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(elements(spec, name)):
            yield f"{path}.{name}[{index}]", container


# -- contexts --------------------------------------------------------------------------------------


def pod_security_context(path: str, spec: Document) -> Iterator[FieldError]:
    """Yield the errors of a pod's security context and host namespaces."""
    context, place = part(spec, "securityContext"), f"{path}.securityContext"
    yield from _rules("pod_users", place, context)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield FieldError.invalid(f"{place}.shareProcessNamespace", True, detail)
    yield from _sysctls(f"{place}.sysctls", elements(context, "sysctls"), spec)
    yield from _rules("pod_security_context", place, context)


def _sysctls(path: str, sysctls: list[Any], spec: Document) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        name, place = sysctl.get("name") or "", f"{path}[{index}].name"
        if not name:
            yield FieldError.required(place)
        elif byte_length(name) > _MAX_SYSCTL or not re.fullmatch(SYSCTL, name):
            detail = f"must have at most {_MAX_SYSCTL} characters and match regex ^{SYSCTL}$"
            yield FieldError.invalid(place, name, detail)
        elif name in seen:
            yield FieldError.duplicate(place, name)
        seen.add(name)
        dotted = name.replace("/", ".")
        if spec.get("hostNetwork") and dotted.startswith("net."):
            yield FieldError.invalid(place, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and dotted.startswith(_IPC_SYSCTLS):
            yield FieldError.invalid(place, name, "may not be specified when 'hostIPC' is true")


def container_security_context(path: str, context: Document, *, host_users: bool) -> Iterator[FieldError]:
    yield from _rules("container_users", path, context)
    if host_users and context.get("procMount") == "Unmasked":
        yield FieldError.invalid(f"{path}.procMount", "Unmasked", "`hostUsers` must be false to use `Unmasked`")
    yield from _rules("seccomp", path, context)
    if context.get("allowPrivilegeEscalation") is False:
        shown = go_struct(context, **_CONTAINER_CONTEXT)
        if context.get("privileged"):
            detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield FieldError.invalid(path, shown, detail)
        if "CAP_SYS_ADMIN" in elements(context, "capabilities", "add"):
            detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            yield FieldError.invalid(path, shown, detail)
    yield from _rules("windows_and_app_armor", path, context)


def _local_profile(path: str, profile: Document) -> Iterator[FieldError]:
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    if kind != "Localhost":
        if local is not None:
            detail = "can only be set when seccomp type is Localhost"
            shown = {"Type": kind, "LocalhostProfile": local}
            yield FieldError.invalid(f"{path}.localhostProfile", shown, detail)
    elif local is None:
        yield FieldError.required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost")
    else:
        yield from descending_path(f"{path}.localhostProfile", local)


def _app_armor_profile(path: str, profile: Document) -> Iterator[FieldError]:
    kind, local, place = profile.get("type") or "", profile.get("localhostProfile"), f"{path}.localhostProfile"
    if kind == "Localhost":
        if local is None:
            yield FieldError.required(place, "must be set when AppArmor type is Localhost")
            return
        if local.strip() != local:
            yield FieldError.invalid(place, local, "must not be padded with whitespace")
        elif not local:
            yield FieldError.required(place, "must be set when AppArmor type is Localhost")
        yield from at_most_bytes(4095)(place, local)
    elif kind in _PROFILE_TYPES:
        if local is not None:
            yield FieldError.invalid(place, local, "can only be set when AppArmor type is Localhost")
    else:
        yield from _rules("app_armor_type", path, profile)


# -- Windows ---------------------------------------------------------------------------------------


def _credential_spec(path: str, credentials: str) -> Iterator[FieldError]:
    if not credentials:
        yield FieldError.invalid(path, credentials, "gmsaCredentialSpec cannot be an empty string")
    elif byte_length(credentials) > _MAX_CREDENTIAL_SPEC:
        yield FieldError.invalid(path, credentials, "gmsaCredentialSpec size must be under 64 KiB")


def _user_name(path: str, name: str) -> Iterator[FieldError]:
    for detail in _user_name_complaints(name):
        yield FieldError.invalid(path, name, detail)


def _user_name_complaints(name: str) -> Iterator[str]:
    parts = name.split("\\")
    if not name:
        yield "runAsUserName cannot be an empty string"
    elif re.search(r"[\x00-\x1f\x7f]", name):
        yield "runAsUserName cannot contain control characters"
    elif len(parts) > 2:
        yield "runAsUserName cannot contain more than one backslash"
    else:
        domain, user = parts[0] if len(parts) > 1 else None, parts[-1]
        if domain is not None and byte_length(domain) >= 256:
            yield "runAsUserName's Domain length must be under 256 characters"
        if domain is not None and not (_NETBIOS.fullmatch(domain) or _DNS_DOMAIN.fullmatch(domain)):
            yield "runAsUserName's Domain doesn't match the NetBios nor the DNS format"
        if not user:
            yield "runAsUserName's User cannot be empty"
        elif byte_length(user) > 104:
            yield "runAsUserName's User length must not be longer than 104 characters"
        if re.fullmatch(r"[. ]+", user):
            yield "runAsUserName's User cannot contain only periods or spaces"
        if re.search(r'["/\\:;|=,+*?<>@\[\]]', user):
            yield "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"


def host_process_containers(path: str, spec: Document) -> Iterator[FieldError]:
    """Yield the errors of Windows HostProcess containers: all containers must be, or none."""
    of_pod = part(spec, "securityContext", "windowsOptions").get("hostProcess")
    flags = []
    for place, container in all_containers(spec, path):
        own = part(container, "securityContext", "windowsOptions").get("hostProcess")
        if of_pod is not None and own is not None and of_pod != own:
            detail = f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
            yield FieldError.invalid(f"{place}.securityContext.windowsOptions.hostProcess", own, detail)
        flags.append(bool(of_pod if own is None else own))
    if any(flags):
        if not all(flags):
            detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
            yield FieldError.invalid(path, "", detail)
        if not spec.get("hostNetwork"):
            detail = "hostNetwork must be true if pod contains any hostProcess containers"
            yield FieldError.invalid(f"{path}.hostNetwork", False, detail)


def operating_system(path: str, spec: Document) -> Iterator[FieldError]:
    """Yield the errors of `os`, or of fields that this operating system does not support."""
    if spec.get("os") is None:
        return
    name = part(spec, "os").get("name") or ""
    if not name:
        yield FieldError.required(f"{path}.os.name")
    elif name == "linux":
        yield from _windows_options_on_linux(path, spec)
    elif name == "windows":
        yield from _linux_fields_on_windows(path, spec)
    else:
        yield FieldError.not_supported(f"{path}.os", name, ("linux", "windows"))


def _windows_options_on_linux(path: str, spec: Document) -> Iterator[FieldError]:
    for place, owner in ((path, spec), *all_containers(spec, path)):
        if part(owner, "securityContext").get("windowsOptions") is not None:
            detail = "windows options cannot be set for a linux pod"
            yield FieldError.forbidden(f"{place}.securityContext.windowsOptions", detail)


def _linux_fields_on_windows(path: str, spec: Document) -> Iterator[FieldError]:
    yield from _rules("windows_pod", path, spec)
    for place, container in all_containers(spec, path):
        yield from _rules("windows_container", f"{place}.securityContext", part(container, "securityContext"))


_rules: Final = Rules(globals())
