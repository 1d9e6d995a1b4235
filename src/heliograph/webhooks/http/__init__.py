"""Posts to servers of customers: it decides which addresses may be reached, makes the connections,
and reads the answers. It does not know what the posted bodies are, or to which endpoint they go.
"""

__all__ = [
    "address_guard",
    "attempt",
    "make_poster",
    "post",
]
