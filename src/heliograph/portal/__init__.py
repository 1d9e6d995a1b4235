"""The developer portal has pages for the people of an account. A page holds no rule of its own; it
calls the use cases that the API calls, and shows what they refuse in their words.

The console is made of the same parts.
"""

from heliograph.portal.portal import Portal, portal_for

__all__ = [
    "Portal",
    "export",
    "filled_form",
    "form_idempotency",
    "handlers",
    "lanes",
    "languages",
    "list_page",
    "page_request",
    "pages",
    "plots",
    "portal_for",
    "rendering",
    "visit",
]
