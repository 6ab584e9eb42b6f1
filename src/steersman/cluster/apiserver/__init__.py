# SPDX-License-Identifier: Apache-2.0
"""The API server of the embedded cluster: documents in, documents out.

Patches (`patches`), server-side apply (`server_side_apply`), field managers (`managed_fields`),
validation (`rules`, `structural_schemas`), kubectl's tables (`tables`) and OpenAPI (`openapi`) are
functions of documents, without a store or HTTP.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "catalog": "Catalog",
        "custom_resources": "CustomResources",
        "pages": "Pages",
        "requests": "ApiRequest WatchAnswer",
        "resources": "Resource storage_class",
        "reviews": "TokenUser Tokens",
        "server": "ApiServer in_memory",
        "service": "ApiService",
        "service_addresses": "FIRST_ADDRESS with_addresses",
        "statuses": "RequestRefused bad_request",
        "strategic_merge_patches": "strategically_merged",
    },
)
