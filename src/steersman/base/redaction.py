# SPDX-License-Identifier: Apache-2.0
"""Removes secrets from displayed text: passwords in URLs, and placeholders for omitted data.

Used for URLs from configurations and kubeconfigs in messages, and by `config.documents`.
"""

from __future__ import annotations

import re
from typing import Final

HIDDEN_PASSWORD: Final = "***"
"""As in Go's HTTP client."""
HIDDEN_DATA: Final = "DATA+OMITTED"
"""As in kubectl, in place of keys."""

_USER_INFO: Final = re.compile(r"(?<=://)[^/?#\s]*(?=@)")


def hide_passwords(text: str) -> str:
    """Replace user information in URLs by `user:***@`. A name without a password may be a token and
    is hidden too."""
    return _USER_INFO.sub(_hidden, text)


def _hidden(match: re.Match[str]) -> str:
    name, colon, _ = match[0].partition(":")
    return f"{name}:{HIDDEN_PASSWORD}" if colon else HIDDEN_PASSWORD
