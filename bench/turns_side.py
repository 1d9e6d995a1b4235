"""One side of `bench.turns` keeps a server of the checkout that it is started in, and puts load on
it when it is asked.

Its arguments are a database, `postgresql` or `sqlite`, and a load, `accept` or `bulk`. The first
line of its output says that the server is warm. After that, each line on standard input is a number
of seconds. The line that answers is JSON: `{"per_s": …, "errors": {…}}`. This file is
given to Python by its path, and it imports only what the bench of older commits has too.
"""

import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench import load, setup, traffic
from bench.databases import SqliteDatabases, postgres_databases
from bench.ours import _warm as warm
from bench.reading import Conditions
from bench.server import serving, set_up


def main(kind: str, group: str) -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the server prints is no answer
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="heliograph-turns-")))
        databases: Any = (
            stack.enter_context(postgres_databases(folder))
            if kind == "postgresql"
            else SqliteDatabases(folder)
        )
        conditions = Conditions(folder, 1.0, warm_up_s=1.0, limit_s=1.0, fill_s=1.0)
        installation = stack.enter_context(set_up(conditions, databases))
        server = stack.enter_context(serving(installation))
        wanted = installation.data_dir, server.port, setup.keys_file(installation)
        singles = traffic.single_sends(*wanted)
        warm(conditions, singles)
        if group == "accept":
            sends, connections, each = singles, conditions.connections, 1
        else:
            each = conditions.bulk_recipients
            sends, connections = traffic.bulk_sends(*wanted, each), conditions.bulk_connections
        print(json.dumps({"warm": True}), file=answers)
        for line in sys.stdin:
            seen = load.run(sends, connections, float(line))
            said = {"per_s": seen.per_s * each, "errors": seen.errors}
            print(json.dumps(said), file=answers)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
