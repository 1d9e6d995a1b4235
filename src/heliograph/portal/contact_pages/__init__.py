"""Shows contacts, and lets people keep them, one by one and as files."""
