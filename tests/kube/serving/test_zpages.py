# SPDX-License-Identifier: Apache-2.0
"""`/flagz` and `/statusz` speak as those of other Kubernetes components."""

from __future__ import annotations

import json

import pytest
import yaml

from steersman.kube.serving.endpoints import ProcessFacts
from steersman.kube.serving.http import TEXT, Answer
from steersman.kube.serving.zpages import NOT_ACCEPTABLE, ZPage, answer, flagz, statusz

FLAGS = flagz({"v": "2", "config": "/etc/sched.yaml"})
FACTS = ProcessFacts("0.1.0", "1.36", "CPython 3.13.1", started=1_000_000.0, now=lambda: 1_003_725.9)
STATUS = statusz(FACTS, ["/metrics", "/metrics/slis", "/debug/cache", "/healthz/{check}", "/healthz"])
NAMED = "g=config.k8s.io;v=v1beta1;as=Flagz"


def text(response: Answer) -> str:
    assert isinstance(response.body, bytes)
    return response.body.decode()


@pytest.mark.parametrize("accept", ["", "*/*", "text/plain", "text/*", "application/json, text/plain;q=0.5"])
def test_people_get_text(accept: str) -> None:
    response = answer(FLAGS, accept)
    header, warning, *lines = text(response).strip().splitlines()
    assert (response.content_type, header) == (TEXT, "steersman flagz")
    assert warning.startswith("Warning: This endpoint is not meant to be machine parseable")
    assert lines == ["config=/etc/sched.yaml", "v=2"]


def test_programs_get_the_document_that_they_name() -> None:
    response = answer(FLAGS, f"application/json;{NAMED}")
    assert json.loads(text(response)) == {
        "kind": "Flagz",
        "apiVersion": "config.k8s.io/v1beta1",
        "metadata": {"name": "steersman"},
        "flags": {"config": "/etc/sched.yaml", "v": "2"},
    }
    as_yaml = answer(FLAGS, f"application/yaml;{NAMED}")
    assert as_yaml.content_type == "application/yaml; charset=utf-8"
    assert yaml.safe_load(text(as_yaml)) == json.loads(text(response))


def test_the_old_version_comes_with_a_warning() -> None:
    response = answer(FLAGS, f"application/json;{NAMED.replace('v1beta1', 'v1alpha1')}")
    assert json.loads(text(response))["apiVersion"] == "config.k8s.io/v1alpha1"
    assert response.headers["Warning"].startswith("299 - ")


@pytest.mark.parametrize(
    "accept",
    ["application/json", "application/json;g=config.k8s.io;v=v2;as=Flagz", f"application/xml;{NAMED}", "image/png"],
)
def test_what_cannot_be_had_is_not_acceptable(accept: str) -> None:
    response = answer(FLAGS, accept)
    status = json.loads(text(response))
    assert (response.status, status["reason"], status["message"]) == (406, "NotAcceptable", NOT_ACCEPTABLE)


def test_the_preferred_form_wins() -> None:
    response = answer(FLAGS, f"text/plain;q=0.2, application/yaml;{NAMED};q=0.9, application/json;{NAMED};q=0.5")
    assert response.content_type == "application/yaml; charset=utf-8"


def test_statusz_tells_how_long_the_process_has_been_up_and_what_it_serves() -> None:
    lines = text(answer(STATUS, "")).splitlines()
    assert "Up: 1 hr 02 min 05 sec" in lines
    assert "Binary version: 0.1.0" in lines
    assert "Paths: /debug /healthz /metrics" in lines
    page: ZPage = STATUS
    assert page.fields["uptimeSeconds"] == 3725
    assert page.fields["startTime"] == "1970-01-12T13:46:40Z"
    assert page.fields["emulationVersion"] == "1.36"
