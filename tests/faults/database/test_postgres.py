"""PostgreSQL dies, loses the reply to a COMMIT, or refuses a transaction for another one's sake
(docs/reliability.md, rows 7, 8 and 9).
"""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import psycopg
import pytest

from heliograph.base import ids
from heliograph.database import migrate
from heliograph.database.outage import CONFLICT_TRIES
from tests.support import plain_http
from tests.support.factories import SENDER
from tests.support.faults.deployment import ALONE, PARTS, Deployment
from tests.support.faults.matrix import quick_or_long
from tests.support.faults.proxy import COMMITTED, Proxy
from tests.support.services.postgres import PrivatePostgres

ANSWER_WITHIN_S = 2.0
BACK_WITHIN_S = 10.0
WINDOW = 10
NewDeployment = Callable[..., Deployment]


@pytest.fixture
def own_deployment(new_deployment: NewDeployment, private_postgres: PrivatePostgres) -> Deployment:
    """Makes a deployment on a server of the test's own."""
    migrate.upgrade(private_postgres.url)
    return new_deployment("postgresql", url=private_postgres.url)


# --- 7


@pytest.mark.fault(7)
@pytest.mark.parametrize(
    ("how", "commands"), [("kill", PARTS), ("stop", ALONE)], ids=["kill", "stop"]
)
def test_a_postgresql_that_dies_is_503_at_once_and_is_found_again(
    own_deployment: Deployment,
    private_postgres: PrivatePostgres,
    how: str,
    commands: tuple[tuple[str, ...], ...],
) -> None:
    deployment, clients = own_deployment, own_deployment.clients
    carrier = deployment.carrier("--answer-delay-ms", "20", window=WINDOW)
    deployment.start(commands)

    def answered(status: int, since: int) -> int:
        return sum(reply.status == status for reply in clients.replies[since:])

    with clients.sending(per_second=50):
        clients.wait_for(50)
        getattr(private_postgres, how)()
        gone = len(clients.replies)
        deployment.until(lambda: answered(503, gone) >= 20, "503")
        private_postgres.start()
        back, submitted = len(clients.replies), len(carrier.submits())
        recovered_s = deployment.until(
            lambda: answered(200, back) >= 20, "accepted again", BACK_WITHIN_S
        )
        recovered_s += deployment.until(
            lambda: len(carrier.submits()) > submitted + 20, "submitted again", BACK_WITHIN_S
        )
    assert {reply.status for reply in clients.replies} <= {200, 503, 0}
    slow = [reply for reply in clients.replies if reply.took_s > ANSWER_WITHIN_S]
    assert not slow, slow
    assert all(server.process.poll() is None for server in deployment.servers)
    deployment.holds(
        repeated_max=WINDOW,
        recovered_s=recovered_s,
        how=(
            f"{'killed' if how == 'kill' else 'stopped'} under load; from its "
            "return until 20 were accepted, and 20 submitted"
        ),
    )


# --- 8


@pytest.mark.fault(8)
def test_an_accept_whose_commit_nobody_heard_of_is_answered_from_what_is_stored(
    new_deployment: NewDeployment,
) -> None:
    deployment = new_deployment("postgresql")
    deployment.carrier()
    proxy = deployment.database_proxy()
    deployment.start()
    for order in deployment.clients.orders(int(quick_or_long(5, 200))):
        loss = proxy.lose(
            lambda said, heard: COMMITTED in said and b"order " in heard, said_by="server"
        )
        # without an Idempotency-Key
        answer = plain_http.post(
            f"{deployment.api.address}/api/v1/sms/send",
            headers=deployment.clients.headers,
            timeout=30,
            json={"sender": SENDER, "message": order.text, "recipients": [order.recipient]},
        )
        deployment.clients.accepted[answer.raise_for_status().json()["data"]["message_id"]] = order
        loss.wait()
    deployment.holds(
        how=(
            "the proxy loses each accept's reply to COMMIT and cuts the connection; the requests"
            " have no Idempotency-Key"
        )
    )


@pytest.mark.fault(8)
def test_a_turn_whose_commit_nobody_heard_of_sends_once(new_deployment: NewDeployment) -> None:
    """Claims that were stored and never written go back; answers and receipts are
    recorded again.
    """
    deployment, messages = new_deployment("postgresql"), int(quick_or_long(20, 500))
    carrier = deployment.carrier("--answer-delay-ms", "20", window=WINDOW)
    deployment.start([("api", "--workers", "2")])
    first = (ids.raw_of_text("msg", deployment.clients.send(messages)[0]) or "").encode()
    proxy = deployment.database_proxy()
    loss = proxy.lose(
        lambda said, heard: COMMITTED in said and (first in heard or b"delivered" in heard),
        said_by="server",
        times=int(quick_or_long(6, 50)),
    )
    deployment.run("worker")
    loss.wait(60)
    carrier.wait_for("acknowledged", messages, 60)
    assert "turn_failed" in deployment.sender.log
    deployment.holds(
        how=(
            "the proxy loses replies to COMMIT of turns that claim, record answers, and record"
            " receipts"
        )
    )


# --- 9


def states_told(proxy: Proxy) -> Counter[bytes]:
    """Returns how often PostgreSQL gave each of these errors, from now on."""
    told: Counter[bytes] = Counter()

    def listen(said: bytes, _heard: bytes) -> bool:
        for state in (b"40001", b"40P01", b"55P03"):
            told[state] += said.count(b"C" + state + b"\0")
        return False

    proxy.lose(listen, said_by="server")
    return told


def wait_until_one_waits(deployment: Deployment, watcher: psycopg.Connection) -> None:
    """Waits until the service waits for a lock that somebody holds."""
    waiting = """
        SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
            AND datname = current_database()"""
    deployment.until(
        lambda: (watcher.execute(waiting).fetchone() or (0,))[0], "the service waits for a lock"
    )


class Rival:
    """A rival has two sessions beside the service: one holds locks, and the other looks who waits
    for them.
    """

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        # so that it is the service that finds the deadlock
        self.holder = psycopg.connect(deployment.db.url, options="-c deadlock_timeout=60s")
        self.watcher = psycopg.connect(deployment.db.url, autocommit=True)
        self._threads = ThreadPoolExecutor(1)

    def __enter__(self) -> "Rival":
        return self

    def __exit__(self, *_: object) -> None:
        self.holder.close()
        self.watcher.close()
        self._threads.shutdown()

    def holds(self, sql: str, *values: object) -> None:
        self.holder.execute(sql, values)

    def sends(self) -> "Future[list[str]]":
        """Sends one order, which is on its way and waits for what is held."""
        sent = self._threads.submit(self._deployment.clients.send, 1)
        wait_until_one_waits(self._deployment, self.watcher)
        return sent


def a_deployment_that_meets(
    own_deployment: Deployment, setting: str
) -> tuple[Deployment, Counter[bytes]]:
    """Returns a deployment, all sessions of which have this setting, and what PostgreSQL
    tells it.
    """
    with psycopg.connect(own_deployment.db.url, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE postgres SET {setting}")
    own_deployment.db.close()
    told = states_told(own_deployment.database_proxy())
    return own_deployment, told


@pytest.mark.fault(9)
def test_an_accept_that_deadlocks_is_run_again(own_deployment: Deployment) -> None:
    deployment, told = a_deployment_that_meets(own_deployment, "deadlock_timeout = '500ms'")
    deployment.carrier()
    deployment.start(ALONE)
    deployment.clients.send(1)
    with Rival(deployment) as rival:
        # the next order's key, for the service to wait for while it holds the wallet
        [order] = deployment.clients.orders(1)
        following = (
            order.idempotency_key[:-2]
            + str(int(order.idempotency_key[-2]) + 1)
            + order.idempotency_key[-1]
        )
        rival.holds(
            """INSERT INTO idempotency_keys
                (account_id, sandbox, path, key, body_sha256, created_at_ms)
                       SELECT account_id, sandbox, path, %s, body_sha256, created_at_ms
                           FROM idempotency_keys LIMIT 1""",
            following,
        )
        sent = rival.sends()
        rival.holds("SELECT 1 FROM wallets FOR UPDATE")  # returns when the service has given way
        rival.holder.rollback()
        sent.result(20)
    assert told == {b"40P01": 1, b"40001": 0, b"55P03": 0}
    assert {reply.status for reply in deployment.clients.replies} == {200}
    deployment.holds(
        how="a rival session takes the locks in the other order; PostgreSQL ends the accept (40P01)"
    )


@pytest.mark.fault(9)
def test_a_turn_that_deadlocks_is_run_again(own_deployment: Deployment) -> None:
    deployment, told = a_deployment_that_meets(own_deployment, "deadlock_timeout = '500ms'")
    carrier = deployment.carrier("--answer-delay-ms", "1000")
    deployment.start(ALONE)
    [message_id] = deployment.clients.send(1)
    carrier.wait_for("submit_sm", 1)
    with Rival(deployment) as rival:
        rival.holds(
            "SELECT 1 FROM messages WHERE id = %s FOR UPDATE", ids.raw_of_text("msg", message_id)
        )
        # with the answer: it has the row in flight already
        wait_until_one_waits(deployment, rival.watcher)
        rival.holds("SELECT 1 FROM inflight FOR UPDATE")
        rival.holder.rollback()
    deployment.settle()
    assert told[b"40P01"] == 1
    deployment.holds(
        how="a rival session takes the locks in the other order; PostgreSQL ends the turn (40P01)"
    )


@pytest.mark.fault(9)
def test_a_transaction_that_cannot_be_serialized_is_run_again(own_deployment: Deployment) -> None:
    deployment, told = a_deployment_that_meets(
        own_deployment, "default_transaction_isolation = 'repeatable read'"
    )
    deployment.carrier()
    deployment.start(ALONE)
    deployment.clients.send(1)
    with Rival(deployment) as rival:
        rival.holds("UPDATE wallets SET sms_credits = sms_credits")
        sent = rival.sends()
        rival.holder.commit()
        sent.result(20)
    assert told[b"40001"] >= 1
    assert {reply.status for reply in deployment.clients.replies} == {200}
    deployment.holds(how="a rival session changes the wallet first, under REPEATABLE READ (40001)")


@pytest.mark.fault(9)
def test_a_lock_that_is_never_given_is_asked_for_five_times_more(
    own_deployment: Deployment,
) -> None:
    deployment, told = a_deployment_that_meets(own_deployment, "deadlock_timeout = '60s'")
    deployment.carrier()
    deployment.start(ALONE)
    deployment.clients.send(1)
    with Rival(deployment) as rival:
        rival.holds("SELECT 1 FROM wallets FOR UPDATE")
        sent = rival.sends()
        deployment.until(lambda: deployment.clients.replies[-1].status == 503, "refused in the end")
        assert told == {b"55P03": 1 + CONFLICT_TRIES, b"40P01": 0, b"40001": 0}
        rival.holder.rollback()
        sent.result(20)
    deployment.holds(
        how=(
            "a rival session holds the wallet: five more tries of a second, then 503; accepted when"
            " it is let go"
        )
    )
