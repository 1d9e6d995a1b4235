"""Lets people come in: by pages that sign in, a user's own page, and mail with links."""
