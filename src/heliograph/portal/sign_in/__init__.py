"""Lets people come in: it has the pages that sign in, a user's own page, and the mail with links."""
