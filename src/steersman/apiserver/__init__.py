# SPDX-License-Identifier: Apache-2.0
"""The embedded cluster as an API server: documents in, documents out.

What an object becomes by a patch (`patches`) or by server-side apply (`server_side_apply`), who set which of its fields
(`managed_fields`), whether it is valid (`built_in_validation`, `structural_schemas`), how kubectl prints it (`tables`) and what
clients are told about its fields (`openapi`) are functions of documents, without a store and without HTTP.
"""
