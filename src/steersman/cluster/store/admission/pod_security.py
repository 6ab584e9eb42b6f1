# SPDX-License-Identifier: Apache-2.0
"""Pod Security admission: policies in namespace labels, and the checks of the levels `baseline` and
`restricted`.

Input: namespace labels, and metadata and spec of a pod or pod template as JSON. `CHECKS` lists the
checks in the order of messages; a check returns its violation. Used by `apiserver.pod_security` for
client requests and by `controllers.pod_template` for controllers' pods.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from steersman.api import Document, Namespace, Pod, elements, part
from steersman.cluster.store.errors import Forbidden
from steersman.cluster.store.store import ClusterView

PREFIX: Final = "pod-security.kubernetes.io/"
PRIVILEGED, BASELINE, RESTRICTED = LEVELS = ("privileged", "baseline", "restricted")
LATEST: Final = "latest"
_VERSION: Final = re.compile(r"v1\.([0-9]|[1-9][0-9]{0,17})")
_NEWEST_MINOR: Final = 10**18

_CAPABILITIES: Final = frozenset(
    {
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID",
        "SETPCAP", "SETUID", "SYS_CHROOT",
    }
)  # fmt: skip
_SYSCTLS: Final = {
    **dict.fromkeys(("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"), 0),
    **dict.fromkeys(("net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"), 0),
    "net.ipv4.ip_local_reserved_ports": 27,
    **dict.fromkeys(("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout"), 29),
    **dict.fromkeys(("net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"), 29),
    **dict.fromkeys(("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"), 32),
}
"""Allowed sysctls → minor version of the first policy that allows them."""
_SELINUX_TYPES: Final = {"container_t": 0, "container_init_t": 0, "container_kvm_t": 0, "container_engine_t": 31}
"""Allowed SELinux types → minor version of the first policy that allows them."""
_PROFILES: Final = ("RuntimeDefault", "Localhost")
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_APPARMOR_CONTAINER: Final = "container.apparmor.security.beta.kubernetes.io/"
_ALLOWED_VOLUMES: Final = frozenset(
    {
        "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret",
    }
)  # fmt: skip


# -- policies --------------------------------------------------------------------------------------


class LevelVersion(NamedTuple):
    """Level and version of its checks: `latest` or `v1.N`."""

    level: str = PRIVILEGED
    version: str = LATEST

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"

    @property
    def minor(self) -> int:
        return _NEWEST_MINOR if self.version == LATEST else int(self.version.removeprefix("v1."))


class Policy(NamedTuple):
    """Levels that a namespace enforces and warns about. `audit` has no effect."""

    enforce: LevelVersion = LevelVersion()
    warn: LevelVersion = LevelVersion()


def policy_of(labels: Mapping[str, str]) -> Policy:
    """Return the policy in a namespace's labels. The warning level defaults to the enforced one.

    An invalid level is enforced as `restricted` and causes no warnings; an invalid version means
    `latest`.
    """
    if not any(name.startswith(PREFIX) for name in labels):
        return Policy()
    enforced, warned = (labels.get(PREFIX + mode, PRIVILEGED) for mode in ("enforce", "warn"))
    versions = [labels.get(f"{PREFIX}{mode}-version", LATEST) for mode in ("enforce", "warn")]
    version, warned_version = (found if _VERSION.fullmatch(found) else LATEST for found in versions)
    if f"{PREFIX}warn" not in labels and enforced in LEVELS:
        warned = enforced
        warned_version = warned_version if f"{PREFIX}warn-version" in labels else version
    return Policy(
        LevelVersion(enforced if enforced in LEVELS else RESTRICTED, version),
        LevelVersion(warned if warned in LEVELS else PRIVILEGED, warned_version),
    )


def enforce_pod_security(view: ClusterView, namespace: str, name: str, metadata: Document, spec: Document) -> None:
    """Raise `Forbidden` if the pod violates the level that its namespace enforces."""
    found = view.find(Namespace, namespace)
    level = LevelVersion() if found is None else policy_of(found.metadata.labels).enforce
    violations = violations_of(level, metadata, spec)
    if violations:
        raise Forbidden(Pod, name, f'violates PodSecurity "{level}": {details(violations)}')


# -- evaluation ------------------------------------------------------------------------------------


class Violation(NamedTuple):
    """Forbidden property of a pod, and its location."""

    reason: str
    detail: str


class _Container(NamedTuple):
    name: str
    document: Document
    context: Document


class _CheckedPod:
    """Pod or template as input of the checks, with the policy's minor version."""

    def __init__(self, metadata: Document, spec: Document, minor: int) -> None:
        self.spec = spec
        self.minor = minor
        self.annotations: Mapping[str, str] = part(metadata, "annotations")
        self.context = part(spec, "securityContext")
        self.containers = [
            _Container(one.get("name") or "", one, part(one, "securityContext"))
            for field in ("initContainers", "containers", "ephemeralContainers")
            for one in elements(spec, field)
        ]

    @property
    def is_windows(self) -> bool:
        """Whether the pod is exempt from fields that Windows lacks, for policies since v1.25."""
        return self.minor >= 25 and part(self.spec, "os").get("name") == "windows"

    @property
    def is_user_namespaced(self) -> bool:
        """Whether the pod has a user namespace; policies since v1.35 then relax some checks."""
        return self.minor >= 35 and self.spec.get("hostUsers") is False

    def containers_where(self, is_bad: Callable[[_Container], Any]) -> list[str]:
        return [container.name for container in self.containers if is_bad(container)]

    def setters(self, is_bad: Callable[[Document], Any]) -> list[str]:
        """Return `pod` and `container "a"` for each violating security context."""
        names = self.containers_where(lambda container: is_bad(container.context))
        return ["pod"] * bool(is_bad(self.context)) + ([_named("container", names)] if names else [])

    def values(self, pick: Callable[[Document], Any]) -> list[str]:
        """Return the sorted values in all security contexts, without None."""
        found = {pick(context) for context in (self.context, *(one.context for one in self.containers))}
        return sorted(found - {None})


def violations_of(policy: LevelVersion, metadata: Document, spec: Document) -> list[Violation]:
    """Return the violations of a level, in the order of upstream's messages."""
    if policy.level == PRIVILEGED:
        return []
    pod = _CheckedPod(metadata, spec, policy.minor)
    applied = [check for check in CHECKS if check.minor <= pod.minor and policy.level in (check.level, RESTRICTED)]
    overridden = {check.overrides for check in applied}
    found = (check.find(pod) for check in applied if check.find not in overridden)
    return [violation for violation in found if violation is not None]


def details(violations: Iterable[Violation]) -> str:
    """Format violations as in messages about a single object."""
    return ", ".join(f"{reason} ({detail})" if detail else reason for reason, detail in violations)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _plural(noun: str, items: list[Any], plural: str = "") -> str:
    return noun if len(items) == 1 else plural or f"{noun}s"


def _named(noun: str, names: list[str]) -> str:
    return f"{_plural(noun, names)} {_quoted(names)}"


def _field_of(*path: str) -> Callable[[Document], Any]:
    return lambda context: part(context, *path[:-1]).get(path[-1])


# -- baseline --------------------------------------------------------------------------------------


def _apparmor(pod: _CheckedPod) -> Violation | None:
    def bad_type(context: Document) -> str | None:
        profile = context.get("appArmorProfile")
        return None if profile is None or profile.get("type") in _PROFILES else profile.get("type") or ""

    setters, values = pod.setters(lambda context: bad_type(context) is not None), pod.values(bad_type)
    annotations = sorted(
        f"{name}={json.dumps(value)}"
        for name, value in pod.annotations.items()
        if name.startswith(_APPARMOR_CONTAINER) and not _is_allowed_profile(value, "", "runtime/default")
    )
    setters += [_plural("annotation", annotations)] if annotations else []
    values += annotations
    if not setters:
        return None
    detail = f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted(values)}"
    return Violation(_plural("forbidden AppArmor profile", values), detail)


def _is_allowed_profile(value: str, *allowed: str) -> bool:
    return value in allowed or value.startswith("localhost/")


def _added(container: _Container) -> list[str]:
    return elements(container.context, "capabilities", "add")


def _must_not_add(pod: _CheckedPod, allowed: Iterable[str]) -> str:
    names = pod.containers_where(lambda container: set(_added(container)) - set(allowed))
    added = sorted({value for container in pod.containers for value in _added(container)} - set(allowed))
    what = f"must not include {_quoted(added)} in securityContext.capabilities.add"
    return f"{_named('container', names)} {what}" if names else ""


def _baseline_capabilities(pod: _CheckedPod) -> Violation | None:
    detail = _must_not_add(pod, _CAPABILITIES)
    return Violation("non-default capabilities", detail) if detail else None


def _host_namespaces(pod: _CheckedPod) -> Violation | None:
    found = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if pod.spec.get(name)]
    return Violation("host namespaces", ", ".join(found)) if found else None


def _host_paths(pod: _CheckedPod) -> Violation | None:
    names = [one.get("name") or "" for one in elements(pod.spec, "volumes") if one.get("hostPath") is not None]
    return Violation("hostPath volumes", _named("volume", names)) if names else None


def _host_ports(pod: _CheckedPod) -> Violation | None:
    def ports(container: _Container) -> set[str]:
        return {str(port["hostPort"]) for port in elements(container.document, "ports") if port.get("hostPort")}

    names, used = pod.containers_where(ports), sorted(set[str]().union(*map(ports, pod.containers)))
    uses = f"{_plural('uses', names, 'use')} {_plural('hostPort', used)} {', '.join(used)}"
    return Violation("hostPort", f"{_named('container', names)} {uses}") if names else None


def _host_probes(pod: _CheckedPod) -> Violation | None:
    def hosts(container: _Container) -> set[str]:
        handlers = [part(container.document, name) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
        handlers += [part(container.document, "lifecycle", name) for name in ("postStart", "preStop")]
        found = (part(one, action).get("host") for one in handlers for action in ("httpGet", "tcpSocket"))
        return {host for host in found if host}

    names, used = sorted(set(pod.containers_where(hosts))), sorted(set[str]().union(*map(hosts, pod.containers)))
    uses = f"{_plural('uses', names, 'use')} {_plural('probe or lifecycle host', used)} {_quoted(used)}"
    return Violation("probe or lifecycle host", f"{_named('container', names)} {uses}") if names else None


def _privileged(pod: _CheckedPod) -> Violation | None:
    names = pod.containers_where(lambda container: container.context.get("privileged"))
    detail = f"{_named('container', names)} must not set securityContext.privileged=true"
    return Violation("privileged", detail) if names else None


def _any_proc_mount(pod: _CheckedPod) -> Violation | None:
    def bad_type(container: _Container) -> str | None:
        value = container.context.get("procMount")
        return None if value == "Default" else value

    names = pod.containers_where(lambda container: bad_type(container) is not None)
    types = sorted({value for value in map(bad_type, pod.containers) if value is not None})
    detail = f"{_named('container', names)} must not set securityContext.procMount to {_quoted(types)}"
    return Violation("procMount", detail) if names else None


def _proc_mount(pod: _CheckedPod) -> Violation | None:
    return None if pod.is_user_namespaced else _any_proc_mount(pod)


def _selinux(pod: _CheckedPod) -> Violation | None:
    def bad_type(context: Document) -> str | None:
        kind = part(context, "seLinuxOptions").get("type") or None
        return kind if _SELINUX_TYPES.get(kind or "container_t", pod.minor + 1) > pod.minor else None

    def sets(name: str) -> Callable[[Document], Any]:
        return _field_of("seLinuxOptions", name)

    setters = pod.setters(lambda context: bad_type(context) or sets("user")(context) or sets("role")(context))
    if not setters:
        return None
    types = pod.values(bad_type)
    data = [_named("type", types)] if types else []
    data += [f"{name} may not be set" for name in ("user", "role") if pod.setters(sets(name))]
    where = f"{' and '.join(setters)} set forbidden securityContext.seLinuxOptions"
    return Violation("seLinuxOptions", f"{where}: {'; '.join(data)}")


def _bad_seccomp(context: Document) -> str | None:
    profile = context.get("seccompProfile")
    return None if profile is None or profile.get("type") in _PROFILES else profile.get("type") or ""


def _set_seccomp(pod: _CheckedPod) -> Violation | None:
    setters = pod.setters(lambda context: _bad_seccomp(context) is not None)
    what = f"must not set securityContext.seccompProfile.type to {_quoted(pod.values(_bad_seccomp))}"
    return Violation("seccompProfile", f"{' and '.join(setters)} {what}") if setters else None


def _baseline_seccomp(pod: _CheckedPod) -> Violation | None:
    """Check seccomp profiles, which are annotations before v1.19."""
    if pod.minor >= 19:
        return _set_seccomp(pod)
    keys = {_SECCOMP_POD, *(_SECCOMP_CONTAINER + container.name for container in pod.containers)}
    values = {key: pod.annotations[key] for key in keys if key in pod.annotations}
    allowed = ("runtime/default", "docker/default")
    found = sorted(f"{k}={json.dumps(v)}" for k, v in values.items() if not _is_allowed_profile(v, *allowed))
    detail = f"forbidden {_plural('annotation', found)} {', '.join(found)}"
    return Violation("seccompProfile", detail) if found else None


def _sysctls(pod: _CheckedPod) -> Violation | None:
    names = [one.get("name") or "" for one in elements(pod.context, "sysctls")]
    found = [name for name in names if _SYSCTLS.get(name, pod.minor + 1) > pod.minor]
    return Violation("forbidden sysctls", ", ".join(found)) if found else None


def _host_process(pod: _CheckedPod) -> Violation | None:
    setters = pod.setters(_field_of("windowsOptions", "hostProcess"))
    detail = f"{' and '.join(setters)} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", detail) if setters else None


# -- restricted ------------------------------------------------------------------------------------


def _privilege_escalation(pod: _CheckedPod) -> Violation | None:
    names = pod.containers_where(lambda container: container.context.get("allowPrivilegeEscalation") is not False)
    if not names or pod.is_windows:
        return None
    detail = f"{_named('container', names)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail)


def _restricted_capabilities(pod: _CheckedPod) -> Violation | None:
    names = pod.containers_where(lambda one: "ALL" not in elements(one.context, "capabilities", "drop"))
    drop = f'{_named("container", names)} must set securityContext.capabilities.drop=["ALL"]' if names else ""
    found = [detail for detail in (drop, _must_not_add(pod, ("NET_BIND_SERVICE",))) if detail]
    return Violation("unrestricted capabilities", "; ".join(found)) if found and not pod.is_windows else None


def _volume_types(pod: _CheckedPod) -> Violation | None:
    volumes = [(one.get("name") or "", _volume_type(one)) for one in elements(pod.spec, "volumes")]
    names = [name for name, kind in volumes if kind not in _ALLOWED_VOLUMES]
    types = sorted({kind for _, kind in volumes} - _ALLOWED_VOLUMES)
    uses = f"{_plural('uses', names, 'use')} {_named('restricted volume type', types)}"
    return Violation("restricted volume types", f"{_named('volume', names)} {uses}") if names else None


def _volume_type(volume: Document) -> str:
    return next((kind for kind, source in volume.items() if kind != "name" and source is not None), "unknown")


def _non_root(pod: _CheckedPod) -> Violation | None:
    reason, setters = "runAsNonRoot != true", pod.setters(lambda context: context.get("runAsNonRoot") is False)
    if pod.is_user_namespaced:
        return None
    if setters:
        return Violation(reason, f"{' and '.join(setters)} must not set securityContext.runAsNonRoot=false")
    names = pod.containers_where(lambda container: container.context.get("runAsNonRoot") is None)
    if not names or pod.context.get("runAsNonRoot"):
        return None
    return Violation(reason, f"pod or {_named('container', names)} must set securityContext.runAsNonRoot=true")


def _user(pod: _CheckedPod) -> Violation | None:
    setters = pod.setters(lambda context: context.get("runAsUser") == 0)
    if not setters or pod.is_user_namespaced:
        return None
    return Violation("runAsUser=0", f"{' and '.join(setters)} must not set runAsUser=0")


def _restricted_seccomp(pod: _CheckedPod) -> Violation | None:
    if pod.is_windows:
        return None
    names = pod.containers_where(lambda container: container.context.get("seccompProfile") is None)
    if (found := _set_seccomp(pod)) is not None or not names or pod.context.get("seccompProfile") is not None:
        return found
    what = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {_named('container', names)} {what}")


Find: TypeAlias = Callable[[_CheckedPod], Violation | None]


class Check(NamedTuple):
    """A check, the level and minor version that introduced it, and the check that it overrides."""

    find: Find
    level: str
    minor: int = 0
    overrides: Find | None = None


CHECKS: Final = (
    Check(_apparmor, BASELINE),
    Check(_baseline_capabilities, BASELINE),
    Check(_host_namespaces, BASELINE),
    Check(_host_paths, BASELINE),
    Check(_host_ports, BASELINE),
    Check(_host_probes, BASELINE, 34),
    Check(_privileged, BASELINE),
    Check(_proc_mount, BASELINE),
    Check(_selinux, BASELINE),
    Check(_baseline_seccomp, BASELINE),
    Check(_sysctls, BASELINE),
    Check(_host_process, BASELINE),
    Check(_privilege_escalation, RESTRICTED, 8),
    Check(_restricted_capabilities, RESTRICTED, 22, _baseline_capabilities),
    Check(_any_proc_mount, RESTRICTED, 35, _proc_mount),
    Check(_volume_types, RESTRICTED, 0, _host_paths),
    Check(_non_root, RESTRICTED),
    Check(_user, RESTRICTED, 23),
    Check(_restricted_seccomp, RESTRICTED, 19, _baseline_seccomp),
)
