"""Shows what became of an account's messages, in figures."""
