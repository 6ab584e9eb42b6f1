# SPDX-License-Identifier: Apache-2.0
"""Watch events of the API server, real or embedded, become changes of the cache and events of the queue."""

from steersman.ingest.handlers import Ingest

__all__ = ["Ingest"]
