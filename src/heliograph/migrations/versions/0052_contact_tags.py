"""Adds the function that PostgreSQL's index of contacts by their tags is made with.

The version before does not call it.
"""

from alembic import op

revision = "0052"
down_revision = "0051"


def upgrade() -> None:
    # Each tag of a contact, behind the number of its shelf: `7.gold`.
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE FUNCTION contact_tags(shelf integer, tags text) RETURNS text[]"
            " LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$"
            " SELECT array_agg(shelf::text || '.' || tag)"
            " FROM jsonb_array_elements_text(tags::jsonb) AS tag $$"
        )
