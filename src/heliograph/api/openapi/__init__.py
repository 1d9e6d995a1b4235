"""The API's description in OpenAPI 3.1: complete, and true to the table of endpoints it is made
from.

What is written of an endpoint stands in the module of its capability; what all share is added in
`document.py`.
"""

from heliograph.api.openapi.document import (
    BASE_PATH,
    OPERATIONS,
    Undescribed,
    describe,
    openapi_document,
)
from heliograph.api.openapi.guide import EXAMPLE_BASE_URL

__all__ = [
    "BASE_PATH",
    "EXAMPLE_BASE_URL",
    "OPERATIONS",
    "Undescribed",
    "describe",
    "openapi_document",
]
