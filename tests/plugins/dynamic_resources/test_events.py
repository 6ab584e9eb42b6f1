# SPDX-License-Identifier: Apache-2.0
"""The events for which the plugin registers are upstream's."""

from __future__ import annotations

import json

from tests.golden_files import golden
from tests.plugins.dynamic_resources.handle import OnePlugin
from tests.plugins.test_volume_events import test_registered_events_are_upstreams as check


def test_registered_events_are_upstreams() -> None:
    documents = json.loads(golden("plugin_events.json").read_text())
    assert any(document["plugin"] == "DynamicResources" for document in documents)
    check(OnePlugin().plugin)
