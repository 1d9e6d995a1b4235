"""The developer portal has pages for the people of an account. A page holds no rule of its own; it
calls the use cases that the API calls, and shows what they refuse in their words.
"""

from heliograph.portal.portal import portal_for

__all__ = ["portal_for"]
