"""The disk of the database is full, and later has room again (docs/reliability.md, row 10)."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from heliograph.database import migrate
from tests.support import plain_http
from tests.support.faults.deployment import ALONE, Deployment
from tests.support.services import ServiceMissing
from tests.support.services.disk import SmallDisk, small_disk
from tests.support.services.postgres import PrivatePostgres

OCTETS = {"sqlite": 8 << 20, "postgresql": 96 << 20}  # a fresh PostgreSQL takes 40 MB
BACK_WITHIN_S = 10.0
WINDOW = 10


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def disk(kind: str) -> Iterator[SmallDisk]:
    with ExitStack() as stack:
        try:
            found = stack.enter_context(small_disk(OCTETS[kind]))
        except ServiceMissing as missing:
            pytest.skip(str(missing))  # which CI takes for a failure
        yield found


@pytest.fixture
def postgres(
    kind: str, disk: SmallDisk, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PrivatePostgres | None]:
    """Yields a server on that disk, or None for SQLite."""
    if kind == "sqlite":
        yield None
        return
    monkeypatch.setattr(tempfile, "tempdir", str(disk.path))
    made = PrivatePostgres()
    monkeypatch.undo()
    with made:
        yield made


@pytest.mark.fault(10)
def test_a_full_disk_is_503_until_there_is_room(
    kind: str,
    disk: SmallDisk,
    postgres: PrivatePostgres | None,
    new_deployment: Callable[..., Deployment],
) -> None:
    url = postgres.url if postgres is not None else f"sqlite:///{disk.path}/heliograph.db"
    migrate.upgrade(url)
    deployment = new_deployment(kind, url=url)
    clients = deployment.clients
    carrier = deployment.carrier("--answer-delay-ms", "20", window=WINDOW)
    deployment.start(ALONE)

    def answered(status: int, since: int) -> int:
        return sum(reply.status == status for reply in clients.replies[since:])

    def ready() -> int:
        return plain_http.get(f"{deployment.api.address}/readyz", timeout=30).status_code

    with clients.sending(per_second=100, octets=150):
        clients.wait_for(50)
        disk.fill()
        full = len(clients.replies)
        deployment.until(lambda: answered(503, full) >= 20, "503", 60)
        since = len(clients.replies)
        deployment.until(lambda: answered(503, since) >= 20, "503 again")
        assert not answered(200, since), "accepted on a full disk"
        assert ready() == 503
        disk.make_room()
        if postgres is not None and not postgres.process.is_running():
            # it ends itself when it cannot write its log: then its operator starts it again
            postgres.kill()
            postgres.start()
        back, submitted = len(clients.replies), len(carrier.submits())
        recovered_s = deployment.until(
            lambda: answered(200, back) >= 20, "accepted again", BACK_WITHIN_S
        )
        recovered_s += deployment.until(
            lambda: len(carrier.submits()) > submitted + 20, "submitted again", BACK_WITHIN_S
        )
        deployment.until(lambda: ready() == 200, "/readyz says so", BACK_WITHIN_S)
    assert {reply.status for reply in clients.replies} <= {200, 503}
    assert deployment.sender.process.poll() is None
    deployment.holds(
        recovered_s=recovered_s,
        how="a small disk under the database is filled, /readyz is 503; "
        "from room again until 20 were accepted, and 20 submitted",
    )
