# SPDX-License-Identifier: Apache-2.0
"""Conformance with kube-scheduler on golden bundles: a runner per kind of bundle."""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.testing.conformance.agreement import Agreement as Agreement, count as count, readable as readable
    from steersman.testing.conformance.bundles import run_bundle as run_bundle
    from steersman.testing.conformance.record_extraction import extract as extract
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "agreement": "Agreement count readable",
            "bundles": "run_bundle",
            "record_extraction": "extract",
        },
    )
