# SPDX-License-Identifier: Apache-2.0
"""Secrets kept out of what is shown: passwords in URLs, and the words that stand for what was left out.

Used wherever a URL from a configuration or a kubeconfig ends up in a message, and by `config.documents`.
"""

from __future__ import annotations

import re
from typing import Final

HIDDEN_PASSWORD: Final = "***"
"""As Go's HTTP client writes it."""
HIDDEN_DATA: Final = "DATA+OMITTED"
"""As kubectl writes it in place of keys."""

_USER_INFO: Final = re.compile(r"(?<=://)[^/?#\s]*(?=@)")


def hide_passwords(text: str) -> str:
    """The text with `user:***@` in place of names with passwords in its URLs. A name alone may be a token, and is hidden."""
    return _USER_INFO.sub(_hidden, text)


def _hidden(match: re.Match[str]) -> str:
    name, colon, _ = match[0].partition(":")
    return f"{name}:{HIDDEN_PASSWORD}" if colon else HIDDEN_PASSWORD
