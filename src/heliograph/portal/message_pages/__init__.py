"""Shows messages, what became of them, and the phones of the sandbox."""
