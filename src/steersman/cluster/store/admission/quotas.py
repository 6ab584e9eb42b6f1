# SPDX-License-Identifier: Apache-2.0
"""Resource quotas: the usage of a namespace's objects, and checks of new objects.

A store's ledger tracks all objects once the first quota exists. Admission checks it before storing
an object; the quota controller writes its usage to statuses. Not counted: devices of resource
claims, and more than one node port per service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from steersman.api import (
    FINISHED_PHASES,
    Amount,
    Object,
    PersistentVolumeClaim,
    Pod,
    PodAffinityTerm,
    PodSpec,
    ResourceList,
    ResourceQuota,
    ScopedSelectorRequirement,
    Service,
    key,
    quantity,
)
from steersman.base import LruCache
from steersman.cluster.store.admission.limit_ranges import pod_limits
from steersman.cluster.store.errors import OverLimit, resource
from steersman.cluster.store.history import EventType
from steersman.cluster.store.store import Store
from steersman.framework import request_amounts

Usage: TypeAlias = Mapping[str, Amount]

COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
STORAGE_CLASS: Final = ".storageclass.storage.k8s.io/"
STORAGE_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
LEGACY_COUNTS: Final = ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")
"""Kinds that may be counted without the prefix `count/`."""
CONSTRAINED: Final = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})
"""Resources that every container must specify if a quota limits them."""
_ONE: Final = quantity.parse("1")
_ZERO: Final = quantity.parse("0")
_MAX_REMEMBERED: Final = 1024


class _Quota:
    """A quota and its usage."""

    def __init__(self, quota: ResourceQuota) -> None:
        self.name = quota.metadata.name
        spec = quota.spec
        self.hard: dict[str, Amount] = {name: quantity.parse(amount) for name, amount in spec.hard.items()}
        listed = tuple(ScopedSelectorRequirement(scope, "Exists") for scope in spec.scopes)
        self.scopes = listed + (() if spec.scope_selector is None else spec.scope_selector.match_expressions)
        self.used: dict[str, Amount] = dict.fromkeys(self.hard, _ZERO)

    def covers(self, obj: Object) -> bool:
        """Return whether all scopes of the quota select the object; scopes select only pods."""
        if not self.scopes:
            return True
        return isinstance(obj, Pod) and all(_is_in_scope(obj, scope) for scope in self.scopes)

    def charge(self, usage: Usage, sign: int) -> bool:
        """Add or subtract usage; return whether anything changed."""
        is_changed = False
        for name, amount in usage.items():
            if name in self.used and amount.unscaled:
                change = quantity.add if sign > 0 else quantity.sub
                self.used[name] = change(self.used[name], amount)
                is_changed = True
        return is_changed

    def exceeded(self, usage: Usage) -> list[str]:
        """Return the resources that would exceed the quota."""
        return sorted(
            name
            for name, amount in usage.items()
            if name in self.hard
            and amount.unscaled > 0
            and quantity.compare(quantity.add(self.used[name], amount), self.hard[name]) > 0
        )


class QuotaExcess(NamedTuple):
    """Excess of an object over a quota: amounts by resource."""

    #: `namespace/name` of the quota.
    quota: str
    hard: Usage
    used: Usage
    #: Amounts that the object would add.
    added: Usage


class QuotaLedger:
    """Current usage of every quota of a store; see `quota_ledger`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        #: namespace → quota key → quota.
        self._quotas: dict[str, dict[str, _Quota]] = {}
        #: Usage by the ids of the counted parts of a spec, which pods of a template share; the
        #: specs keep the ids valid.
        self._known: LruCache[tuple[int, ...], tuple[PodSpec, Usage]] = LruCache(_MAX_REMEMBERED)
        self._changed: dict[str, None] = {}
        self._listener: Callable[[], None] | None = None
        self._is_listening = False
        store.subscribe(self._on_event, None)
        self._is_listening = True
        for quota in tuple(store.objects(ResourceQuota).values()):
            self._on_quota(None, quota)

    def used(self, name: str) -> ResourceList | None:
        """Return the usage of the resources that a quota limits; None for a missing quota."""
        quota = self._quotas.get(name.partition("/")[0], {}).get(name)
        if quota is None:
            return None
        return {resource: quantity.canonical(amount) for resource, amount in quota.used.items()}

    def listen(self, listener: Callable[[], None]) -> None:
        """Register the only listener, called when a quota's usage changes; see `take_changed`."""
        self._listener = listener
        if self._changed:
            listener()

    def take_changed(self) -> Iterable[str]:
        """Return the keys of the quotas whose usage changed since the last call."""
        changed, self._changed = self._changed, {}
        return changed

    def check(self, obj: Object, old: Object | None) -> None:
        """Raise `OverLimit` if the object exceeds a quota or lacks required resources."""
        quotas = self._quotas.get(obj.metadata.namespace)
        if not quotas:
            return
        usage = self._usage(obj)
        before = {} if old is None else self._usage(old)
        for quota in quotas.values():
            if not quota.covers(obj):
                continue
            if isinstance(obj, Pod):
                _check_constraints(obj, quota)
            was_covered = old is not None and quota.covers(old)
            added = _difference(usage, before) if was_covered else usage
            exceeded = quota.exceeded(added)
            if exceeded:
                raise OverLimit(type(obj), obj.metadata.name, _refusal(quota, added, exceeded))

    def excesses(self, obj: Object) -> Iterator[QuotaExcess]:
        """Yield a new object's excess over each quota, for explanations."""
        usage = self._usage(obj)
        for name, quota in self._quotas.get(obj.metadata.namespace, {}).items():
            exceeded = quota.exceeded(usage) if quota.covers(obj) else []
            if exceeded:
                hard, used, added = (
                    {each: amounts[each] for each in exceeded} for amounts in (quota.hard, quota.used, usage)
                )
                yield QuotaExcess(name, hard, used, added)

    # -- events ------------------------------------------------------------------------------------

    def count(self, obj: Object) -> None:
        """Count an object that is not stored, for plans that place pods without storing them."""
        self._charge(self._quotas.get(obj.metadata.namespace, {}), None, obj)

    def _on_event(self, _: EventType, old: Object | None, new: Object | None) -> None:
        obj = new or old
        if obj is None or not self._is_listening:
            return
        if isinstance(obj, ResourceQuota):
            self._on_quota(old, new if isinstance(new, ResourceQuota) else None)
        quotas = self._quotas.get(obj.metadata.namespace)
        if quotas and not (isinstance(new, ResourceQuota) and old is None):
            self._charge(quotas, old, new)

    def _on_quota(self, old: Object | None, new: ResourceQuota | None) -> None:
        if new is None:
            if old is not None:
                self._quotas.get(old.metadata.namespace, {}).pop(key(old), None)
            return
        if isinstance(old, ResourceQuota) and old.spec == new.spec:
            return
        quota = self._quotas.setdefault(new.metadata.namespace, {})[key(new)] = _Quota(new)
        for kind in self._store.kinds:
            if kind.NAMESPACED:
                for obj in self._store.objects(kind).values():
                    if obj.metadata.namespace == new.metadata.namespace and quota.covers(obj):
                        quota.charge(self._usage(obj), 1)
        self._note(key(new))
        for name, other in self._quotas[new.metadata.namespace].items():
            if other is not quota and old is None and other.charge(self._usage(new), 1):
                self._note(name)

    def _charge(self, quotas: Mapping[str, _Quota], old: Object | None, new: Object | None) -> None:
        if old is not None and new is not None and _uses_the_same(old, new):
            return
        for name, quota in quotas.items():
            is_changed = old is not None and quota.covers(old) and quota.charge(self._usage(old), -1)
            if new is not None and quota.covers(new):
                is_changed |= quota.charge(self._usage(new), 1)
            if is_changed:
                self._note(name)

    def _note(self, name: str) -> None:
        self._changed[name] = None
        if self._listener is not None:
            self._listener()

    # -- usage -------------------------------------------------------------------------------------

    def _usage(self, obj: Object) -> Usage:
        counted: dict[str, Amount] = {f"count/{resource(type(obj))}": _ONE}
        if isinstance(obj, Pod):
            return counted if obj.status.phase in FINISHED_PHASES else self._pod_usage(obj.spec)
        if isinstance(obj, PersistentVolumeClaim):
            return {**counted, **_claim_usage(obj)}
        if isinstance(obj, Service):
            return {**counted, **_service_usage(obj)}
        if obj.PLURAL in LEGACY_COUNTS:
            counted[obj.PLURAL] = _ONE
        return counted

    def _pod_usage(self, spec: PodSpec) -> Usage:
        what = (id(spec.containers), id(spec.init_containers), id(spec.overhead), id(spec.resources))
        known = self._known.get(what)
        if known is None:
            known = (spec, _spec_usage(spec))
            self._known.put(what, known)
        return known[1]


def quota_ledger(store: Store) -> QuotaLedger:
    """Return the store's ledger, created at the first call."""
    ledger = store.indexes.get(QuotaLedger)
    if not isinstance(ledger, QuotaLedger):
        ledger = store.indexes[QuotaLedger] = QuotaLedger(store)
    return ledger


def _uses_the_same(old: Object, new: Object) -> bool:
    """Return whether an update, such as of a status, leaves usage unchanged."""
    if isinstance(old, Pod) and isinstance(new, Pod):
        was_finished, is_finished = (pod.status.phase in FINISHED_PHASES for pod in (old, new))
        return was_finished == is_finished and _requests_the_same(old.spec, new.spec)
    return getattr(old, "spec", None) == getattr(new, "spec", None)


def _requests_the_same(old: PodSpec, new: PodSpec) -> bool:
    """Return whether the counted parts of the specs are the same; binding does not change them."""
    return (
        old.containers is new.containers
        and old.init_containers is new.init_containers
        and old.overhead is new.overhead
        and old.resources is new.resources
        and old.active_deadline_seconds == new.active_deadline_seconds
    )


def _spec_usage(spec: PodSpec) -> Usage:
    usage: dict[str, Amount] = {"count/pods": _ONE, "pods": _ONE}
    for name, amount in request_amounts(Pod(spec=spec), status=False).items():
        if name in COMPUTE or name.startswith("hugepages-"):
            usage[name] = amount
        usage[f"requests.{name}"] = amount
    for name, limit in pod_limits(spec).items():
        if name in COMPUTE:
            usage[f"limits.{name}"] = quantity.parse(limit)
    return usage


def _claim_usage(claim: PersistentVolumeClaim) -> Usage:
    usage: dict[str, Amount] = {"persistentvolumeclaims": _ONE}
    annotated = claim.metadata.annotations.get(STORAGE_CLASS_ANNOTATION)
    storage_class = annotated or claim.spec.storage_class_name
    storage = claim.spec.resources.requests.get("storage")
    if storage is not None:
        usage["requests.storage"] = quantity.parse(storage)
    if storage_class:
        for name, amount in tuple(usage.items()):
            usage[f"{storage_class}{STORAGE_CLASS}{name}"] = amount
    return usage


def _service_usage(service: Service) -> Usage:
    usage: dict[str, Amount] = {"services": _ONE}
    if service.spec.type in ("NodePort", "LoadBalancer"):
        usage["services.nodeports"] = _ONE
    if service.spec.type == "LoadBalancer":
        usage["services.loadbalancers"] = _ONE
    return usage


def _difference(usage: Usage, before: Usage) -> Usage:
    return {name: quantity.sub(amount, before.get(name, _ZERO)) for name, amount in usage.items()}


def _refusal(quota: _Quota, added: Usage, exceeded: list[str]) -> str:
    requested, used, hard = (_listed(amounts, exceeded) for amounts in (added, quota.used, quota.hard))
    return f"exceeded quota: {quota.name}, requested: {requested}, used: {used}, limited: {hard}"


def _listed(amounts: Usage, names: list[str]) -> str:
    return ",".join(f"{name}={quantity.canonical(amounts[name])}" for name in names)


def _check_constraints(pod: Pod, quota: _Quota) -> None:
    """Raise `OverLimit` if a container lacks requests or limits for a limited compute resource."""
    required = CONSTRAINED & quota.hard.keys()
    resources = pod.spec.resources
    if not required or (resources is not None and (resources.requests or resources.limits)):
        return
    missing: dict[str, list[str]] = {}
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        for name in required:
            kind, _, plain = name.rpartition(".")
            stated = container.resources.limits if kind == "limits" else container.resources.requests
            if plain not in stated:
                missing.setdefault(name, []).append(container.name)
    if missing:
        parts = "; ".join(f"{name} for: {','.join(sorted(set(missing[name])))}" for name in sorted(missing))
        raise OverLimit(Pod, pod.metadata.name, f"failed quota: {quota.name}: must specify {parts}")


def _is_in_scope(pod: Pod, scope: ScopedSelectorRequirement) -> bool:
    deadline = pod.spec.active_deadline_seconds
    match scope.scope_name:
        case "Terminating":
            return deadline is not None and deadline >= 0
        case "NotTerminating":
            return deadline is None or deadline < 0
        case "BestEffort":
            return _is_best_effort(pod.spec)
        case "NotBestEffort":
            return not _is_best_effort(pod.spec)
        case "PriorityClass":
            return _has_priority_class(pod.spec.priority_class_name, scope)
        case "CrossNamespacePodAffinity":
            return any(term.namespaces or term.namespace_selector is not None for term in _affinity_terms(pod.spec))
        case _:
            return False


def _is_best_effort(spec: PodSpec) -> bool:
    containers = (*spec.containers, *spec.init_containers)
    resources = [container.resources for container in containers]
    if spec.resources is not None:
        resources.append(spec.resources)
    return not any(
        quantity.sign(quantity.parse(amount))
        for stated in resources
        for amounts in (stated.requests, stated.limits)
        for name, amount in amounts.items()
        if name in ("cpu", "memory")
    )


def _has_priority_class(name: str, scope: ScopedSelectorRequirement) -> bool:
    match scope.operator:
        case "In":
            return name in scope.values
        case "NotIn":
            return name not in scope.values
        case "DoesNotExist":
            return not name
        case _:
            return bool(name)


def _affinity_terms(spec: PodSpec) -> Iterable[PodAffinityTerm]:
    affinity = spec.affinity
    for kind in () if affinity is None else (affinity.pod_affinity, affinity.pod_anti_affinity):
        if kind is not None:
            yield from kind.required_during_scheduling_ignored_during_execution
            weighted = kind.preferred_during_scheduling_ignored_during_execution
            yield from (known.pod_affinity_term for known in weighted)
