"""Shows sender IDs, and the documents that are attached to them."""
