"""The migrations, in order of their numbers."""
