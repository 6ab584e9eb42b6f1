# SPDX-License-Identifier: Apache-2.0
"""How many files and connections the process may have open: as many as it may ever have, as Go's programs do at their start.

The soft limit, often 1,024, is for programs that use select(); the hard one is the operator's.
"""

from __future__ import annotations

import logging

logger = logging.getLogger(__name__)


def raise_open_files() -> None:
    """RLIMIT_NOFILE, soft to hard; where that is not possible it stays as it is."""
    try:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ImportError, OSError, ValueError) as failure:
        logger.info("the number of open files stays limited: %s", failure)
