# SPDX-License-Identifier: Apache-2.0
"""Rules of pod specs and pod templates (`ValidatePodSpec`, `ValidatePodTemplateSpec`).

`pod_spec` calls the modules for volumes, containers etc. in upstream's order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from steersman.api import quantity
from steersman.api.json_values import Document, elements, part
from steersman.api.validation import security
from steersman.api.validation.checks import (
    MAX_INT32,
    Fields,
    all_of,
    annotation_map,
    at_most_bytes,
    between,
    check_fields,
    descending_path,
    dns1123_subdomain_with_underscore,
    each,
    ip,
    label_key,
    labels,
    name_label,
    name_subdomain,
    one_of,
    optional,
    required,
    with_format,
)
from steersman.api.validation.containers import (
    ContainerContext,
    ephemeral_containers,
    init_containers,
    regular_containers,
)
from steersman.api.validation.field_errors import FieldError, go_struct
from steersman.api.validation.node_selectors import affinity, spread_constraints, tolerations
from steersman.api.validation.persistent_volumes import claim_spec
from steersman.api.validation.resources import (
    amount,
    is_huge_pages,
    pod_resource_name,
    resource_requirements,
    shown_amount,
)
from steersman.api.validation.volumes import volumes

MIRROR_POD: Final = "kubernetes.io/config.mirror"
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_RESTART_POLICY: Final = required(one_of("Always", "OnFailure", "Never"))
_DNS_POLICY: Final = required(one_of("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"))
_NO_HOST_USERS: Final = "when `hostUsers` is false"
_MAX_NAME_SERVERS: Final = 3
_MAX_SEARCH_PATHS: Final = 32
_MAX_SEARCH_LIST: Final = 2048


def pod_spec(path: str, spec: Document, pod: Document | None = None) -> Iterator[FieldError]:
    """Yield the errors of a pod spec; `pod` is the metadata of the pod, None in a pod template."""
    yield from required()(f"{path}.terminationGracePeriodSeconds", _present(spec, "terminationGracePeriodSeconds"))
    valid_volumes, errors = volumes(f"{path}.volumes", spec, pod, claim_spec)
    yield from errors
    yield from _resource_claims(f"{path}.resourceClaims", spec, pod)
    yield from _containers(path, spec, valid_volumes)
    yield from _pod_resources(path, spec)
    if spec.get("hostNetwork"):
        yield from _host_network_ports(path, spec, is_pod=pod is not None)
    yield from _RESTART_POLICY(f"{path}.restartPolicy", spec.get("restartPolicy"))
    yield from _DNS_POLICY(f"{path}.dnsPolicy", spec.get("dnsPolicy"))
    yield from labels(f"{path}.nodeSelector", spec.get("nodeSelector"))
    yield from security.pod_security_context(path, spec)
    yield from affinity(f"{path}.affinity", part(spec, "affinity"))
    yield from _dns_config(f"{path}.dnsConfig", spec)
    for index, gate in enumerate(elements(spec, "readinessGates")):
        yield from label_key(f"{path}.readinessGates[{index}].conditionType", gate.get("conditionType") or "")
    yield from _scheduling_gates(f"{path}.schedulingGates", elements(spec, "schedulingGates"))
    yield from spread_constraints(f"{path}.topologySpreadConstraints", elements(spec, "topologySpreadConstraints"))
    yield from security.host_process_containers(path, spec)
    yield from _host_users(path, spec)
    yield from _hostname_override(f"{path}.hostnameOverride", spec)
    yield from check_fields(spec, _NAMES, path)
    yield from tolerations(f"{path}.tolerations", elements(spec, "tolerations"))
    yield from check_fields(spec, _LAST_FIELDS, path)
    yield from resource_requirements(f"{path}.overhead", {"limits": part(spec, "overhead")}, ())
    yield from security.operating_system(path, spec)
    yield from _file_key_volumes(path, spec)


_NAMES: Final[Fields] = {
    "serviceAccountName": optional(name_subdomain),
    "nodeName": optional(name_subdomain),
    "activeDeadlineSeconds": between(1, MAX_INT32),
    "hostname": optional(name_label),
    "subdomain": optional(name_label),
}
_LAST_FIELDS: Final[Fields] = {
    "hostAliases": each(
        lambda path, alias: check_fields({"ip": "", **alias}, {"ip": ip, "hostnames": each(name_subdomain)}, path)
    ),
    "priorityClassName": optional(name_subdomain),
    "runtimeClassName": name_subdomain,
    # An absent policy is valid, an explicit "" is not.
    "preemptionPolicy": all_of(required(one_of("PreemptLowerPriority", "Never"))),
}


def _present(spec: Document, name: str) -> Any:
    """Return None if the field is absent, else True: `required` treats 0 as absent."""
    return None if spec.get(name) is None else True


def _containers(path: str, spec: Document, valid_volumes: Mapping[str, Document]) -> Iterator[FieldError]:
    context = ContainerContext(
        volumes=valid_volumes,
        claims=frozenset(claim.get("name") or "" for claim in elements(spec, "resourceClaims")) - {""},
        restart_policy=spec.get("restartPolicy") or "",
        grace_period=spec.get("terminationGracePeriodSeconds"),
        host_users=spec.get("hostUsers") is not False,
    )
    regular, init = elements(spec, "containers"), elements(spec, "initContainers")
    yield from regular_containers(f"{path}.containers", regular, context)
    yield from init_containers(f"{path}.initContainers", init, regular, context)
    yield from ephemeral_containers(f"{path}.ephemeralContainers", spec, context)


# -- resources of the pod --------------------------------------------------------------------------


def _resource_claims(path: str, spec: Document, pod: Document | None) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, claim in enumerate(elements(spec, "resourceClaims")):
        if MIRROR_POD in part(pod or {}, "annotations"):
            yield FieldError.forbidden("", "static pods do not support resource claims")
            continue
        place, name = f"{path}[{index}]", claim.get("name") or ""
        if name and name in seen:
            yield FieldError.duplicate(f"{place}.name", name)
        else:
            yield from required(name_label)(f"{place}.name", name)
        seen.add(name)
        given = [
            source for source in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(source) is not None
        ]
        if len(given) != 1:
            detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            if not given:
                detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            shown = go_struct(claim, Name="", ResourceClaimName=None, ResourceClaimTemplateName=None)
            yield FieldError.invalid(place, shown, detail)
        for source in given:
            yield from name_subdomain(f"{place}.{source}", claim[source])


def _pod_resources(path: str, spec: Document) -> Iterator[FieldError]:
    resources, place = spec.get("resources"), f"{path}.resources"
    if resources is None:
        return
    if part(spec, "os").get("name") == "windows":
        yield FieldError.forbidden(place, "may not be set for a windows pod")
        return
    if resources.get("claims") is not None:
        yield FieldError.forbidden(f"{place}.claims", "claims may not be set for Resources at pod-level")
    claims = {claim.get("name") or "" for claim in elements(spec, "resourceClaims")}
    yield from resource_requirements(place, resources, claims, pod_resource_name)
    yield from _enough_for_containers(place, spec, resources)


def _enough_for_containers(place: str, spec: Document, resources: Document) -> Iterator[FieldError]:
    for kind, name, total in _exceeding(spec, resources):
        detail = f"must be greater than or equal to aggregate container {kind} of {total}"
        yield FieldError.invalid(f"{place}.{kind}[{name}]", shown_amount(resources[kind][name]), detail)
    limits = part(resources, "limits")
    for index, container in enumerate(elements(spec, "containers")):
        for name, limit in part(container, "resources", "limits").items():
            if name in limits and quantity.compare(amount(limit), amount(limits[name])) > 0:
                detail = f"must be less than or equal to pod limits of {shown_amount(limits[name])}"
                yield FieldError.invalid(f"{place}.containers[{index}][{name}].limits", shown_amount(limit), detail)


def _exceeding(spec: Document, resources: Document) -> Iterator[tuple[str, str, str]]:
    """Yield kind, resource and sum where the containers exceed the pod-level resources."""
    for kind in ("requests", "limits"):
        for name, total in _aggregate(spec, kind).items():
            given = part(resources, kind).get(name)
            is_compared = given is not None and (kind == "requests" or is_huge_pages(name))
            if is_compared and quantity.compare(total, amount(given)) > 0:
                yield kind, name, quantity.canonical(total)


def _aggregate(spec: Document, kind: str) -> dict[str, quantity.Amount]:
    """Return the aggregate resources of containers; sidecars keep running once started."""
    total = _sum({}, (part(container, "resources", kind) for container in elements(spec, "containers")))
    sidecars: dict[str, quantity.Amount] = {}
    most: dict[str, quantity.Amount] = {}
    for container in elements(spec, "initContainers"):
        own = part(container, "resources", kind)
        running = _sum(sidecars, (own,))
        if container.get("restartPolicy") == "Always":
            sidecars, total = running, _sum(total, (own,))
            quantity.raise_to(most, sidecars)
        else:
            quantity.raise_to(most, {name: running[name] for name in own})
    quantity.raise_to(total, most)
    return total


def _sum(start: Mapping[str, quantity.Amount], lists: Iterable[Document]) -> dict[str, quantity.Amount]:
    total = dict(start)
    for values in lists:
        for name, value in values.items():
            total[name] = quantity.add(total[name], amount(value)) if name in total else amount(value)
    return total


# -- network, names and gates ----------------------------------------------------------------------


def _host_network_ports(path: str, spec: Document, *, is_pod: bool) -> Iterator[FieldError]:
    for index, container in enumerate(elements(spec, "containers")):
        for number, port in enumerate(elements(container, "ports")):
            host_port = port.get("hostPort") or 0
            if (is_pod or host_port) and host_port != (port.get("containerPort") or 0):
                where = f"{path}.containers[{index}].ports[{number}].hostPort"
                yield FieldError.invalid(where, host_port, "must match `containerPort` when `hostNetwork` is true")


def _dns_config(path: str, spec: Document) -> Iterator[FieldError]:
    config = spec.get("dnsConfig")
    servers, searches = elements(config or {}, "nameservers"), elements(config or {}, "searches")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield FieldError.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not servers:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield FieldError.required(f"{path}.nameservers", detail)
            return
    if len(servers) > _MAX_NAME_SERVERS:
        detail = f"must not have more than {_MAX_NAME_SERVERS} nameservers"
        yield FieldError.invalid(f"{path}.nameservers", servers, detail)
    yield from each(ip)(f"{path}.nameservers", servers)
    if len(searches) > _MAX_SEARCH_PATHS:
        detail = f"must not have more than {_MAX_SEARCH_PATHS} search paths"
        yield FieldError.invalid(f"{path}.searches", searches, detail)
    if len(" ".join(searches)) > _MAX_SEARCH_LIST:
        detail = f"must not have more than {_MAX_SEARCH_LIST} characters (including spaces) in the search list"
        yield FieldError.invalid(f"{path}.searches", searches, detail)
    yield from each(_search_path)(f"{path}.searches", searches)
    for index, option in enumerate(elements(config or {}, "options")):
        yield from required(detail="must not be empty")(f"{path}.options[{index}]", option.get("name"))


def _search_path(path: str, search: Any) -> Iterator[FieldError]:
    if search != ".":
        yield from with_format(dns1123_subdomain_with_underscore)(path, search.removesuffix("."))


def _scheduling_gates(path: str, gates: list[Any]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name") or ""
        yield from label_key(f"{path}[{index}]", name)
        if name in seen:
            yield FieldError.duplicate(f"{path}[{index}]", name)
        seen.add(name)


def _host_users(path: str, spec: Document) -> Iterator[FieldError]:
    if spec.get("hostUsers") is not False:
        return
    for field, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(field):
            yield FieldError.forbidden(f"{path}.{shown}", _NO_HOST_USERS)
    for place, container in security.all_containers(spec, path):
        if elements(container, "volumeDevices"):
            yield FieldError.forbidden(f"{place}.volumeDevices", _NO_HOST_USERS)


def _hostname_override(path: str, spec: Document) -> Iterator[FieldError]:
    name = spec.get("hostnameOverride")
    if name is None:
        return
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            yield FieldError.forbidden(path, f"may not be specified when {field} is true")
    yield from at_most_bytes(64)(path, name)
    yield from name_subdomain(path, name)


def _file_key_volumes(path: str, spec: Document) -> Iterator[FieldError]:
    known = {volume.get("name"): volume for volume in elements(spec, "volumes")}
    for place, container in security.all_containers(spec, path):
        for index, variable in enumerate(elements(container, "env")):
            reference = part(variable, "valueFrom").get("fileKeyRef")
            if reference is None:
                continue
            name, where = reference.get("volumeName") or "", f"{place}.env[{index}].valueFrom.fileKeyRef.volumeName"
            if name not in known:
                yield FieldError.not_found(where, name)
            elif known[name].get("emptyDir") is None:
                yield FieldError.invalid(where, name, "referenced volume must be of type emptyDir")


# -- annotations and templates ---------------------------------------------------------------------


def pod_annotations(path: str, values: Mapping[str, str], spec: Document) -> Iterator[FieldError]:
    """Yield the errors of annotations with a meaning for pods, such as seccomp profiles."""
    if MIRROR_POD in values and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        yield FieldError.invalid(f"{path}[{MIRROR_POD}]", values[MIRROR_POD], detail)
    if DELETION_COST in values and not _is_int32(values[DELETION_COST]):
        yield FieldError.invalid(f"{path}[{DELETION_COST}]", values[DELETION_COST], "must be a 32bit integer")
    for key, value in values.items():
        if key == _SECCOMP_POD or key.startswith(_SECCOMP_CONTAINER):
            yield from _seccomp_annotation(f"{path}.{key}", value)
    names = {container.get("name") for _, container in security.all_containers(spec, "")}
    for key, value in values.items():
        if key.startswith(APP_ARMOR):
            if (name := key.removeprefix(APP_ARMOR)) not in names:
                yield FieldError.invalid(f"{path}[{key}]", name, "container not found")
            if value not in ("", "runtime/default", "unconfined") and not value.startswith("localhost/"):
                yield FieldError.invalid(f"{path}[{key}]", value, f'invalid AppArmor profile name: "{value}"')


def _is_int32(text: str) -> bool:
    digits = text.removeprefix("-")
    is_canonical = digits.isascii() and digits.isdecimal() and (text == "0" or text[0] in "-123456789")
    return is_canonical and -(2**31) <= int(text) < 2**31


def _seccomp_annotation(path: str, value: str) -> Iterator[FieldError]:
    if value.startswith("localhost/"):
        yield from descending_path(path, value.removeprefix("localhost/"))
    elif value not in ("runtime/default", "docker/default", "unconfined"):
        yield FieldError.invalid(path, value, "must be a valid seccomp profile")


def matching_profiles(path: str, metadata: Document, spec: Document) -> Iterator[FieldError]:
    """Yield the errors of security profiles whose field and annotation differ."""
    values = part(metadata, "annotations")
    of_pod = part(spec, "securityContext").get("seccompProfile")
    yield from _matching(f"{path}.securityContext.seccompProfile", "seccomp", of_pod, values.get(_SECCOMP_POD))
    containers = list(security.all_containers(spec, path))
    for place, container in containers:
        profile = part(container, "securityContext").get("seccompProfile")
        annotation = values.get(f"{_SECCOMP_CONTAINER}{container.get('name')}")
        yield from _matching(f"{place}.securityContext.seccompProfile", "seccomp", profile, annotation)
    inherited = part(spec, "securityContext").get("appArmorProfile")
    for place, container in containers if part(spec, "os").get("name") != "windows" else ():
        profile = part(container, "securityContext").get("appArmorProfile") or inherited
        annotation = values.get(f"{APP_ARMOR}{container.get('name')}")
        yield from _matching(f"{place}.securityContext.appArmorProfile", "apparmor", profile, annotation)


def _matching(path: str, what: str, profile: Document | None, annotation: str | None) -> Iterator[FieldError]:
    if profile is None or annotation is None:
        return
    expected = {
        "Unconfined": ("unconfined",),
        "RuntimeDefault": ("runtime/default", "docker/default") if what == "seccomp" else ("runtime/default",),
    }
    kind = profile.get("type")
    is_local = annotation.startswith("localhost/")
    if (kind in expected and annotation not in expected[kind]) or (kind == "Localhost" and not is_local):
        yield FieldError.forbidden(f"{path}.type", f"{what} type in annotation and field must match")
    elif kind == "Localhost" and annotation.removeprefix("localhost/") != profile.get("localhostProfile"):
        yield FieldError.forbidden(f"{path}.localhostProfile", f"{what} profile in annotation and field must match")


def template_metadata(path: str, template: Document) -> Iterator[FieldError]:
    metadata = part(template, "metadata")
    yield from labels(f"{path}.labels", metadata.get("labels"))
    yield from annotation_map(f"{path}.annotations", metadata.get("annotations"))
    yield from pod_annotations(f"{path}.annotations", part(metadata, "annotations"), part(template, "spec"))


def pod_template(path: str, template: Document) -> Iterator[FieldError]:
    """Yield the errors of a pod template."""
    spec = part(template, "spec")
    yield from template_metadata(path, template)
    yield from pod_spec(f"{path}.spec", spec)
    yield from matching_profiles(f"{path}.spec", part(template, "metadata"), spec)
    if elements(spec, "ephemeralContainers"):
        yield FieldError.forbidden(
            f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"
        )
