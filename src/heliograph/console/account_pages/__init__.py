"""Shows pages about one account: what it is, may do, keeps and has, and how it ends."""
