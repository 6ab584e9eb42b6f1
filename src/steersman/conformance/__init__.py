# SPDX-License-Identifier: Apache-2.0
"""Agreement with kube-scheduler on golden bundles: one runner per kind of bundle, results as differences."""
