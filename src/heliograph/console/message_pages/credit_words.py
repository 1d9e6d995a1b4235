"""Says in words how many credits go back."""


def credits_in_words(count: int) -> str:
    """Returns what the log holds of credits that went back, such as `2 credits back`."""
    return f"{count} {'credit' if count == 1 else 'credits'} back"
