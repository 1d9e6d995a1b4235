"""Runs three database hosts and one for the service, in network namespaces, with the files and
commands of docs/failover.md.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

import httpx
import psutil
import psycopg

from tests.support import plain_http
from tests.support.documents import blocks, files
from tests.support.services import failover
from tests.support.services.network import Network, pids_in
from tests.support.services.postgres import find_programs
from tests.support.sources import ROOT
from tests.support.warm import HELIOGRAPH

PAGE: Final = ROOT / "docs" / "failover.md"
ADDRESSES: Final = {"db1": "10.77.0.11", "db2": "10.77.0.12", "db3": "10.77.0.13"}
APP: Final = "app"
APP_ADDRESS: Final = "10.77.0.10"
WITHIN_S: Final = 90.0
LOOKS: Final = 5
LOOK_S: Final = 1.0
# for all commands of the page together, on a machine that others use too
RUN_WITHIN_S: Final = 180.0
SETTING: Final = re.compile(r"^export DATABASE_URL=\"?(postgresql://\S+?)\"?$", re.MULTILINE)
_PATH: Final = f"{HELIOGRAPH.parent}:{failover.PATH}"
_PATHS: Final = {
    "/var/lib/etcd/heliograph": "etcd",
    "/var/lib/postgresql/15/heliograph": "data",
    "/var/lib/postgresql/patroni.pgpass": "pgpass",
}


def commands(where: str) -> list[str]:
    """Returns the blocks of the page that are for that host, in order."""
    return [
        block.code
        for block in blocks(PAGE.read_text("utf-8"))
        if block.comment.startswith(f"not run: {where};")
    ]


class Cluster:
    """Runs a cluster, which is stopped when it is made. All methods are for a thread that has
    entered the host of the service: `with cluster.network.entered(APP)`.
    """

    def __init__(self) -> None:
        self.network = Network({APP: APP_ADDRESS, **ADDRESSES})
        self.directory = Path(tempfile.mkdtemp(prefix="heliograph-test-"))
        self.directory.chmod(0o755)  # for the user postgres
        self._begun: list[subprocess.Popen[bytes]] = []
        self.through_haproxy, self.to_all = [
            SETTING.findall(code)[0] for code in commands("on app") if SETTING.search(code)
        ][:2]
        self.printed = ""  # by the page's commands at the host of the service

    def __enter__(self) -> Self:
        self.network.__enter__()
        try:
            for node in ADDRESSES:
                self._write_files(node)
                self.begin(node)
            self._write_files(APP)
            with self.network.entered(APP):
                self.until(
                    lambda: len(self.members("leader")) == 1 and self.is_whole(),
                    "a leader and two who follow it",
                )
                haproxy, service, without_haproxy, *_ = commands("on app")
                self._begin(APP, haproxy)
                self.printed = self.run(service + without_haproxy)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for node in ADDRESSES:
            self.kill(node)
        for process in self._begun:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.network.__exit__()
        shutil.rmtree(self.directory, ignore_errors=True)

    # --- the page's commands

    def begin(self, node: str) -> None:
        """Begins etcd and patroni of a database host; what still runs of them stays."""
        [code] = commands("on each database host")
        lines = [line for line in code.splitlines() if not self._pids(node, line.split()[0])]
        self._begin(
            node,
            "\n".join(lines),
            "setpriv",
            "--reuid=postgres",
            "--regid=postgres",
            "--init-groups",
        )

    def run(self, code: str) -> str:
        """Returns what a block prints that is for the host of the service."""
        done = subprocess.run(
            ["bash", "-euc", code],
            cwd=self._home(APP),
            env={**os.environ, "PATH": _PATH},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_WITHIN_S,
        )
        assert done.returncode == 0, f"{code}\n{done.stdout}{done.stderr}"
        return done.stdout

    def database(self, name: str) -> None:
        """Makes another database of the role's."""
        with psycopg.connect(
            "host=127.0.0.1 port=5000 user=postgres password=change-me-1", autocommit=True
        ) as sql:
            sql.execute(f"CREATE DATABASE {name} OWNER heliograph")

    # --- looking at it

    def members(self, role: str) -> list[str]:
        """Returns who says of themselves that they have it: leader, sync_standby, replica."""
        for address in ADDRESSES.values():
            with suppress(httpx.HTTPError, ValueError):
                told: list[dict[str, Any]] = plain_http.get(
                    f"http://{address}:8008/cluster", timeout=1
                ).json()["members"]
                return [
                    member["name"]
                    for member in told
                    if member["role"] == role and member["state"] in ("running", "streaming")
                ]
        return []

    @property
    def leader(self) -> str:
        return (self.members("leader") or [""])[0]

    def is_whole(self) -> bool:
        """Returns whether there are a leader, a synchronous standby, and another one."""
        return [len(self.members(role)) for role in ("leader", "sync_standby", "replica")] == [
            1,
            1,
            1,
        ]

    def is_whole_for_a_while(self) -> bool:
        """Returns whether it is whole, and patroni has looked at it again since: what it tells may
        be as old as that.
        """
        leader = self.leader
        for _ in range(LOOKS):
            if not self.is_whole() or self.leader != leader:
                return False
            time.sleep(LOOK_S)
        return True

    def until(self, condition: Callable[[], object], what: str, within_s: float = WITHIN_S) -> None:
        until_s = time.monotonic() + within_s
        while not condition():
            assert time.monotonic() < until_s, f"not within {within_s} s: {what}; {self.logs()}"
            time.sleep(0.2)

    def logs(self) -> str:
        return "\n".join(
            f"--- {log}\n{log.read_text(errors='replace')[-1_500:]}"
            for log in self.directory.glob("*/*.log")
        )

    # --- the faults

    def kill(self, node: str, *programs: str) -> None:
        """Does `kill -9` to these at a host; to all that runs there when none is named."""
        for pid in self._pids(node, *programs):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _pids(self, node: str, *programs: str) -> list[int]:
        found = []
        for pid in pids_in(self.network.namespace(node)):
            with suppress(psutil.Error):
                if not programs or psutil.Process(pid).name() in programs:
                    found.append(pid)
        return found

    def _begin(self, node: str, code: str, *as_user: str) -> None:
        env = {**os.environ, "HOME": str(self._home(node)), "PATH": _PATH}
        command = self.network.inside(node, *as_user, "bash", "-c", f"{code}\nwait")
        self._begun.append(
            subprocess.Popen(
                command,
                cwd=self._home(node),
                env=env,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        )

    def _home(self, node: str) -> Path:
        return self.directory / node

    def _write_files(self, node: str) -> None:
        """Writes the page's files, with this host's name and address in place of db1's, and its own
        directories.
        """
        self._home(node).mkdir()
        for name, text in files(PAGE).items():
            lines = [
                line
                if line.endswith("# all") or node == APP
                else line.replace("db1", node).replace(ADDRESSES["db1"], ADDRESSES[node])
                for line in text.splitlines()
            ]
            written = "\n".join(lines) + "\n"
            for path, own in _PATHS.items():
                written = written.replace(path, str(self._home(node) / own))
            (self._home(node) / name).write_text(
                written.replace("/usr/lib/postgresql/15/bin", str(find_programs())), "utf-8"
            )
        if node != APP:
            shutil.chown(self._home(node), "postgres")
