"""Makes the databases that tests copy: `python -m tests.support.prepared FILE [POSTGRES_URL]`.

SQLite's are made beside FILE, which says in the end what there is; then `ready` is printed. When
standard input is closed, those on the PostgreSQL server are dropped.
"""

import os
import pickle
import sys
from contextlib import closing, nullcontext
from pathlib import Path

from heliograph.database import migrate
from tests.support import compiled
from tests.support.api.stage import Stage
from tests.support.prepared import Template
from tests.support.services.databases import PostgresDatabases, SqliteDatabases


def main() -> None:
    file, *servers = sys.argv[1:]
    compiled.share()
    on_servers = [PostgresDatabases(server, migrate.upgrade) for server in servers]
    with closing(on_servers[0]) if on_servers else nullcontext():
        templates = {"sqlite": _on_sqlite(Path(file).parent)}
        for databases in on_servers:
            templates["postgresql"] = _on_postgresql(databases)
        unfinished = Path(f"{file}.unfinished")
        unfinished.write_bytes(pickle.dumps(templates))
        os.rename(unfinished, file)
        print("ready", flush=True)
        sys.stdin.read()


def _on_sqlite(directory: Path) -> Template:
    databases = SqliteDatabases(directory, migrate.upgrade)
    return _staged(databases.template, databases.new(directory))


def _on_postgresql(databases: PostgresDatabases) -> Template:
    return _staged(databases.template, databases.new())


def _staged(empty: str, copy: str) -> Template:
    stage = Stage()
    stage.prepare(copy)
    assert stage.cast is not None
    return Template(empty, copy, stage.cast)


if __name__ == "__main__":
    main()
