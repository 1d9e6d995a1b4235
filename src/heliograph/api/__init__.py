"""Serves HTTP: one request from its first byte to its response, and the pages beside the API."""

__all__ = [
    "app",
    "client_address",
    "listening",
    "loop_delay",
    "shutdown",
    "web_pages_app",
]
