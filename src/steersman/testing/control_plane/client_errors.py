# SPDX-License-Identifier: Apache-2.0
"""Refusals of the API server, as an exception that shows its words. Raised by `client`."""

from __future__ import annotations

from typing import Any

from steersman.errors import SteersmanError


class ServerRefusal(SteersmanError):
    """An answer outside of 2xx."""

    def __init__(self, method: str, path: str, code: int, status: dict[str, Any]) -> None:
        self.code = code
        #: The reason of the Status object, `AlreadyExists` for example; empty when there was no Status.
        self.reason = str(status.get("reason", ""))
        self.status = status
        super().__init__(f"{method} {path}: {code} {self.reason}: {status.get('message', '')}")
