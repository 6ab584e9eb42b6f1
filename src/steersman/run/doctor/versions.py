# SPDX-License-Identifier: Apache-2.0
"""Check of the API server's version, and of the kinds that it serves."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

import msgspec

from steersman import api
from steersman.framework import is_of_plugin
from steersman.kube.client import ApiError, ApiResourceList, Event, Lease, may_be_absent, version_path
from steersman.run.doctor.finding import Finding, fail, ok, warn
from steersman.run.doctor.target import DoctorTarget

CHECK: Final = "versions"
#: Kinds that a scheduler writes, in addition to those it watches.
_WRITTEN: Final[tuple[type[api.Object], ...]] = (Event, Lease)
_SHOWN: Final = 80


async def check_versions(target: DoctorTarget) -> list[Finding]:
    return [await _server(target), *await _kinds(target)]


async def _server(target: DoctorTarget) -> Finding:
    """Check that the scheduler is of the API server's minor version or one older."""
    version = (await target.document("/version", _Version)).git_version[:_SHOWN]
    ours, minor = target.version, target.version.minor
    found = re.match(r"v1\.([0-9]{1,4})", version)
    if found is None:
        return warn(CHECK, f"the API server is of version {version}", f"made for Kubernetes {ours}")
    if int(found[1]) in (minor, minor + 1):
        return ok(CHECK, f"the API server is {version}, decisions are those of kube-scheduler {ours}")
    older = "fields unknown to it are never set" if int(found[1]) < minor else "what is new there is ignored"
    return warn(CHECK, f"the API server is {version}, Steersman is made for {ours}", f"expect that {older}")


async def _kinds(target: DoctorTarget) -> list[Finding]:
    kinds = tuple(dict.fromkeys((*target.kinds, *target.read_kinds, *_WRITTEN)))
    versions = dict.fromkeys(kind.API_VERSION for kind in kinds)
    served = {version: await _resources(target, version) for version in versions}
    missing = [kind for kind in kinds if kind.PLURAL not in served[kind.API_VERSION]]
    findings = [_missing(kind) for kind in missing]
    if len(missing) < len(kinds):
        findings.insert(
            0, ok(CHECK, f"{len(kinds) - len(missing)} of {len(kinds)} kinds are served: {_groups(served)}")
        )
    return findings


def _missing(kind: type[api.Object]) -> Finding:
    text = f"{kind.PLURAL} of {kind.API_VERSION} are not served"
    if kind in _WRITTEN or not may_be_absent(kind):
        advice = f"enable {kind.API_VERSION} in the API server (--runtime-config): steersman run waits for it"
        return fail(CHECK, text, advice)
    advice = "none are assumed; pods that need them stay pending"
    if is_of_plugin(kind):
        advice = f"install its CustomResourceDefinition: until then {advice}"
    return warn(CHECK, text, advice)


def _groups(served: dict[str, Collection[str]]) -> str:
    return ", ".join(version for version, resources in served.items() if resources)


async def _resources(target: DoctorTarget, version: str) -> Collection[str]:
    try:
        document = await target.document(version_path(version), ApiResourceList)
    except ApiError as refusal:
        if refusal.is_not_found:
            return ()
        raise
    return {resource.name for resource in document.resources}


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    git_version: str = "unknown"
