# SPDX-License-Identifier: Apache-2.0
"""Refusals of the API server as exceptions with its message. Raised by `client`."""

from __future__ import annotations

from typing import Any

from steersman.base import SteersmanError


class ServerRefusal(SteersmanError):
    """Error: a response outside 2xx."""

    def __init__(self, method: str, path: str, code: int, status: dict[str, Any]) -> None:
        self.code = code
        #: Reason of the Status object, such as `AlreadyExists`; "" without a Status.
        self.reason = str(status.get("reason", ""))
        self.status = status
        super().__init__(f"{method} {path}: {code} {self.reason}: {status.get('message', '')}")
