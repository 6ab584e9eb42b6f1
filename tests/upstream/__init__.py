# SPDX-License-Identifier: Apache-2.0
"""Upstream's own end-to-end tests of scheduling, with kube-scheduler and with Steersman in its place.

`python -m tests.upstream` (or `make upstream-e2e`). `suite` starts etcd, kube-apiserver, kube-controller-manager, one scheduler
and `fake_kubelets`, runs e2e.test and reads its report; `__main__` compares the two runs.
"""
