"""Posts events: this decides which addresses may be reached, makes the connections, and reads the
answers. It knows nothing of events and endpoints.
"""

__all__ = [
    "address_guard",
    "attempt",
    "make_poster",
    "post",
]
