"""The benchmark drops its own databases, and nobody else's."""

from pathlib import Path

import psycopg

from bench.databases import PREFIX, PostgresDatabases


def test_a_second_benchmark_drops_what_was_left_behind_and_nothing_that_is_used(
    postgres_url: str, tmp_path: Path
) -> None:
    left = f"{PREFIX}1_left_behind"
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {left} TEMPLATE template0".encode())
        first = PostgresDatabases(tmp_path, postgres_url)
        with first.empty() as used:
            second = PostgresDatabases(tmp_path, postgres_url)
            psycopg.connect(used).close()
            second.close()
        first.close()
        assert (
            admin.execute("SELECT datname FROM pg_database WHERE datname = %s", (left,)).fetchall()
            == []
        )
