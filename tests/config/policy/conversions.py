# SPDX-License-Identifier: Apache-2.0
"""Converting policies in tests."""

from __future__ import annotations

from textwrap import dedent

import pytest

from steersman.config import ConfigError, EffectiveProfile, PolicyConversion, convert_policy, effective_profiles


def converted(body: str) -> PolicyConversion:
    return convert_policy("apiVersion: v1\nkind: Policy\n" + dedent(body), "policy.yaml")


def running(body: str) -> EffectiveProfile:
    """What runs after conversion."""
    (profile,) = effective_profiles(converted(body).configuration)
    return profile


def refused(body: str) -> list[str]:
    """The lines about a policy that cannot be converted."""
    with pytest.raises(ConfigError) as caught:
        converted(body)
    return caught.value.lines
