"""Shows pages about messages of all accounts: found, looked at, and settled."""
