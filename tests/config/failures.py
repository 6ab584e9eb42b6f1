# SPDX-License-Identifier: Apache-2.0
"""Catching the error of a document in tests."""

from __future__ import annotations

import pytest

from steersman.config import ConfigError, ConfigStage, build, load


def failure(text: str) -> ConfigError:
    """The error of a document that cannot be loaded."""
    with pytest.raises(ConfigError) as caught:
        load(text, "sched.yaml")
    return caught.value


def texts(error: ConfigError) -> list[str]:
    return sorted(problem.text for problem in error.errors)


def validation_texts(text: str) -> list[str]:
    """What the validate stage says about a document."""
    error = failure(text)
    assert error.stage is ConfigStage.VALIDATE
    return texts(error)


def build_text(text: str) -> str:
    """What the build stage says about a document that loads."""
    config = load(text)
    with pytest.raises(ConfigError) as caught:
        build(config)
    assert caught.value.stage is ConfigStage.BUILD
    (problem,) = caught.value.errors
    return problem.text
