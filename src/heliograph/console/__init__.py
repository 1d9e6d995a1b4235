"""The operator's console has pages for those who run the service. A page holds no rule of its own;
it calls the use cases that the commands call, and it is made of the portal's parts.
"""

from heliograph.console.console import console_only, portal_and_console

__all__ = ["console_only", "portal_and_console"]
