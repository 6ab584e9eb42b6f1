# SPDX-License-Identifier: Apache-2.0
"""What developers and releases run beside the package: `python -m scripts.NAME`. Nothing here is shipped."""
