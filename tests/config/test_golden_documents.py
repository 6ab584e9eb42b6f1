# SPDX-License-Identifier: Apache-2.0
"""Every configuration document of the golden bundle ends as it does in kube-scheduler, at every stage."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from tests.golden_files import golden_lines

from steersman.config import dump_yaml, load
from steersman.testing.conformance.config_documents import run_document


def _by_topic() -> dict[str, list[dict[str, Any]]]:
    topics = defaultdict(list)
    for line in golden_lines("config.jsonl.gz"):
        topics[line["topic"]].append(line)
    return dict(topics)


_TOPICS = _by_topic()


@pytest.mark.parametrize("topic", sorted(_TOPICS))
def test_documents_agree_with_kube_scheduler(topic: str) -> None:
    differences = {line["id"]: run_document(line) for line in _TOPICS[topic]}
    assert {name: found for name, found in differences.items() if found} == {}


def test_a_printed_configuration_loads_as_the_same_configuration() -> None:
    for lines in _TOPICS.values():
        for line in lines:
            if line["result"] == "ok":
                config = load(line["yaml"])
                assert load(dump_yaml(config)) == config, line["id"]
