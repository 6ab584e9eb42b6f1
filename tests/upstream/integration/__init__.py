# SPDX-License-Identifier: Apache-2.0
"""Upstream's integration tests of the scheduler, `test/integration/scheduler`, with `steersman run` in its place.

`python -m tests.upstream.integration` (or `make upstream-integration VERSION=1.37`). `steersman_process.go` is the seam,
`building` builds the test binaries, `running` runs them, and `exclusions.yaml` says which tests cannot run and why.
"""
