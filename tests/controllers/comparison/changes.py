# SPDX-License-Identifier: Apache-2.0
"""Documents of a comparison as they are sent: merge patches, and what an API server made of an object, to be sent once more."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from tests.controllers.comparison.scenario import Document

TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_JOB_LABELS: Final = ("controller-uid", "job-name")
_SERVERS_OWN: Final = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")


def merged(document: Document, change: Document) -> Document:
    """A JSON merge patch, carried out; the document itself stays as it was."""
    result = dict(document)
    for name, value in change.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            inner = result.get(name)
            result[name] = merged(inner if isinstance(inner, dict) else {}, value)
        else:
            result[name] = value
    return result


def completed(change: Any, stored: Any) -> Any:
    """The change with the defaults that the server filled into what it names; the rest of the stored object is left out."""
    if not isinstance(change, dict) or not isinstance(stored, dict):
        return stored
    return {name: None if value is None else completed(value, stored.get(name)) for name, value in change.items()}


def has(found: Any, wanted: Any) -> bool:
    """Whether all fields that are wanted are there; each item that is wanted of a list must be among those found. A number
    that is absent is 0."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(has(found.get(name), value) for name, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(found, list) and all(any(has(item, value) for item in found) for value in wanted)
    return bool(found == wanted) or (found is None and wanted == 0)


def as_sent(stored: Document, wanted: Document) -> Document:
    """The stored object without what the server alone may say; with a status if it was given one. Nodes as they were given,
    since controllers annotate them at once."""
    if stored["kind"] == "Node":
        return timeless(wanted)
    metadata = {name: value for name, value in stored["metadata"].items() if name not in _SERVERS_OWN}
    sent = {**stored, "metadata": metadata}
    if "status" in wanted:
        sent["status"] = wanted["status"]
    else:
        sent.pop("status", None)
    return timeless(_without_job_uid(sent) if sent["kind"] == "Job" else sent)


def _without_job_uid(job: Document) -> Document:
    """A Job without the selector and labels that the server made of its uid; it makes others for the next one."""
    metadata = job["metadata"] | {"labels": without_job_labels(job)}
    template = job["spec"]["template"]
    inner = template | {"metadata": template.get("metadata", {}) | {"labels": without_job_labels(template)}}
    spec = {name: value for name, value in job["spec"].items() if name != "selector"}
    return job | {"metadata": metadata, "spec": spec | {"template": inner}}


def without_job_labels(obj: Document) -> Document:
    """The labels of an object without those by which an API server ties pods to their Job."""
    labels = obj.get("metadata", {}).get("labels", {})
    return {name: value for name, value in labels.items() if name.rpartition("/")[2] not in _JOB_LABELS}


def timeless(document: Document) -> Document:
    bare: Document = json.loads(TIME.sub("NOW-0", json.dumps(document)))
    return bare
