# SPDX-License-Identifier: Apache-2.0
"""Function libraries, one module per subject.

`functions.json` declares the functions: the signature of each overload and the name of its
implementation in these modules. `steersman.api.cel.declarations` reads it.
"""

__all__: list[str] = []
