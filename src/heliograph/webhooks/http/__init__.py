"""The client that posts events: which addresses it may reach, its connections, and how an answer is
read. It knows nothing of events and endpoints.
"""

__all__ = [
    "address_guard",
]
