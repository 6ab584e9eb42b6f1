# SPDX-License-Identifier: Apache-2.0
"""The API server of the embedded cluster: documents in, documents out.

Patches (`patches`), server-side apply (`server_side_apply`), field managers (`managed_fields`),
validation (`rules`, `structural_schemas`), kubectl's tables (`tables`) and OpenAPI (`openapi`) are
functions of documents, without a store or HTTP.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.cluster.apiserver.catalog import Catalog as Catalog
    from steersman.cluster.apiserver.custom_resources import CustomResources as CustomResources
    from steersman.cluster.apiserver.pages import Pages as Pages
    from steersman.cluster.apiserver.requests import ApiRequest as ApiRequest, WatchAnswer as WatchAnswer
    from steersman.cluster.apiserver.resources import Resource as Resource, storage_class as storage_class
    from steersman.cluster.apiserver.reviews import Tokens as Tokens, TokenUser as TokenUser
    from steersman.cluster.apiserver.server import ApiServer as ApiServer, in_memory as in_memory
    from steersman.cluster.apiserver.service import ApiService as ApiService
    from steersman.cluster.apiserver.service_addresses import (
        FIRST_ADDRESS as FIRST_ADDRESS,
        with_addresses as with_addresses,
    )
    from steersman.cluster.apiserver.statuses import RequestRefused as RequestRefused, bad_request as bad_request
    from steersman.cluster.apiserver.strategic_merge_patches import strategically_merged as strategically_merged
else:
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
