# SPDX-License-Identifier: Apache-2.0
"""Turns watch events of the API server, real or embedded, into changes of the cache and events of
the queue."""

from steersman.scheduler.ingest.handlers import Ingest

__all__ = ["Ingest"]
