"""Describes the API in OpenAPI 3.1. The description is complete and true, because it is made from
the table of endpoints.

The text about an endpoint stands in the module of its room; what all share is added in
`document.py`.
"""

from heliograph.api.openapi.document import BASE_PATH, openapi_document
from heliograph.api.openapi.guide import EXAMPLE_BASE_URL

__all__ = [
    "BASE_PATH",
    "EXAMPLE_BASE_URL",
    "openapi_document",
]
