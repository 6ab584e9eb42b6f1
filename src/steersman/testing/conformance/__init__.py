# SPDX-License-Identifier: Apache-2.0
"""Conformance with kube-scheduler on golden bundles: a runner per kind of bundle."""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "agreement": "Agreement count readable",
        "bundles": "run_bundle",
        "setting": "UNNAMED_VERSION",
        "record_extraction": "extract",
    },
)
