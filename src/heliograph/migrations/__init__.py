"""Alembic's migrations: each is frozen once released."""
