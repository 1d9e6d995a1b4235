"""Holds Alembic's migrations. Each is frozen once it is released."""
