# SPDX-License-Identifier: Apache-2.0
"""`/flagz` and `/statusz` of Kubernetes components: plain text, and a versioned document.

A client gets the document only if it names it (`Accept:
application/json;g=config.k8s.io;v=v1beta1;as=Flagz`, or YAML), and text by default; unversioned
`application/json` is not acceptable.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
import yaml

from steersman.kube.serving.endpoints import ProcessFacts
from steersman.kube.serving.http import Answer, json_answer, text_answer

COMPONENT: Final = "steersman"
GROUP: Final = "config.k8s.io"
VERSIONS: Final = ("v1beta1", "v1alpha1")
DEPRECATED: Final = "v1alpha1"
OUTDATED: Final = '299 - "This version of the {} endpoint is deprecated. Please use a newer version."'
HEADER: Final = """
{} {}
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.
"""  # noqa: E501  one line, as upstream writes it
_JSON, _YAML, _TEXT = "application/json", "application/yaml", "text/plain"
_SUPPORTED: Final = (_JSON, _YAML, _TEXT)
NOT_ACCEPTABLE: Final = f"only the following media types are accepted: {', '.join(_SUPPORTED)}"


class ZPage(msgspec.Struct, frozen=True):
    """One page as text and as a document."""

    #: Kind of the document, such as `Flagz`.
    kind: str
    text: str
    fields: dict[str, Any]

    def document(self, version: str) -> dict[str, Any]:
        head = {"kind": self.kind, "apiVersion": f"{GROUP}/{version}", "metadata": {"name": COMPONENT}}
        return {**head, **self.fields}


def flagz(flags: Mapping[str, str]) -> ZPage:
    lines = "".join(f"{name}={value}\n" for name, value in sorted(flags.items()))
    return ZPage("Flagz", HEADER.format(COMPONENT, "flagz") + lines, {"flags": dict(sorted(flags.items()))})


def statusz(facts: ProcessFacts, paths: Iterable[str]) -> ZPage:
    """Return the page, which lists the first parts of all served `paths`."""
    up = max(0, int(facts.now() - facts.started))
    first_parts = sorted({f"/{path.split('/')[1]}" for path in paths})
    fields = {
        "startTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(facts.started)),
        "uptimeSeconds": up,
        # Empty, because the runtime is not Go.
        "goVersion": "",
        "binaryVersion": facts.version,
        "emulationVersion": facts.emulated_version,
        "paths": first_parts,
    }
    lines = (
        "",
        f"Started: {time.strftime('%a %b %e %H:%M:%S %Z %Y', time.localtime(facts.started))}",
        f"Up: {up // 3600} hr {up // 60 % 60:02} min {up % 60:02} sec",
        f"Runtime: {facts.runtime}",
        f"Binary version: {facts.version}",
        f"Emulation version: {facts.emulated_version}",
        f"Paths: {' '.join(first_parts)}",
        "",
    )
    return ZPage("Statusz", HEADER.format(COMPONENT, "statusz") + "\n".join(lines), fields)


# -- answers -----------------------------------------------------------------------------------------------------------


class _Form(msgspec.Struct, frozen=True):
    """An acceptable form of an answer."""

    media_type: str
    #: Version of a document; "" for text.
    version: str = ""


def answer(page: ZPage, accept: str) -> Answer:
    """Return the page in the preferred form; 406 if none is acceptable."""
    form = _Form(_TEXT) if not accept.strip() else next(_acceptable(page.kind, accept), None)
    if form is None:
        return json_answer(_refusal(), 406)
    if not form.version:
        return text_answer(page.text)
    document = page.document(form.version)
    headers = {"Warning": OUTDATED.format(page.kind.lower())} if form.version == DEPRECATED else {}
    if form.media_type == _JSON:
        return json_answer(document, headers=headers)
    text = yaml.safe_dump(document, sort_keys=False)
    return Answer(200, text.encode(), f"{_YAML}; charset=utf-8", headers)


def _acceptable(kind: str, accept: str) -> Iterator[_Form]:
    """Yield the acceptable forms that exist, in order of preference."""
    for media_type, parameters in _clauses(accept):
        wanted = {name: parameters.get(name, "") for name in ("g", "v", "as")}
        for supported in _SUPPORTED:
            if not _matches(media_type, supported):
                continue
            if supported == _TEXT and not any(wanted.values()):
                yield _Form(_TEXT)
            elif supported != _TEXT and (wanted["g"], wanted["as"]) == (GROUP, kind) and wanted["v"] in VERSIONS:
                yield _Form(supported, wanted["v"])


def _clauses(accept: str) -> list[tuple[str, dict[str, str]]]:
    """Return the media types with their parameters, by descending quality."""
    clauses = []
    for clause in accept.split(","):
        media_type, *pairs = (part.strip() for part in clause.split(";"))
        clauses.append((media_type.lower(), dict(_parameter(pair) for pair in pairs)))
    return sorted(clauses, key=lambda clause: -_quality(clause[1].get("q", "1")))


def _parameter(pair: str) -> tuple[str, str]:
    name, _, value = pair.partition("=")
    return name.strip().lower(), value.strip().strip('"')


def _quality(text: str) -> float:
    try:
        return min(max(float(text), 0.0), 1.0)
    except ValueError:
        return 0.0


def _matches(wanted: str, supported: str) -> bool:
    return wanted in ("*/*", supported, f"{supported.partition('/')[0]}/*")


def _refusal() -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": NOT_ACCEPTABLE,
        "reason": "NotAcceptable",
        "code": 406,
    }
