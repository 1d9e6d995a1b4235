"""Holds the way out for tests: the real Acceptor and Turn on a real database, and a Link whose
every move the test decides.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts, wallet
from heliograph.audit.charges import verify_charges
from heliograph.audit.rollups import verify_rollups
from heliograph.audit.tallies import verify_tallies
from heliograph.base import clock
from heliograph.base.errors import ServiceError, Unavailable
from heliograph.carriers import (
    LinkState,
    Outgoing,
    Receipt,
    ReceiptState,
    Submission,
    SubmitAnswer,
    SubmitOutcome,
    carrier_states,
    routing,
)
from heliograph.database import config
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.database.leases import Lease, workers
from heliograph.database.postgresql.snapshot import read_one_snapshot
from heliograph.messages.accept import Acceptor
from heliograph.messages.accept.batch import SendResult as Accepted
from heliograph.messages.carrier import CarrierFacts
from heliograph.messages.carrier.turn import Turn
from heliograph.messages.queue.rank import FairQueue
from heliograph.messages.sweeps import take_over
from heliograph.messages.tables import messages, sends
from heliograph.otp.sealed_text import text_sealer
from heliograph.wallet.tables import ledger_entries
from tests.support.factories import SECRET_KEY, SENDER, open_account, open_carrier, send_request
from tests.support.portal.rolled_up import count_all

WORKER = 7
SUCCESSOR = WORKER + 1
CHANCES = 5


def only_worker(db: Database, epoch: int) -> None:
    """Lets a process begin with this epoch, after all others have died."""
    with db.write() as tx:
        tx.execute(workers.delete())
        tx.execute(
            workers.insert().values(epoch=epoch, kind="worker", started_at_ms=clock.now_ms())
        )


def lease_of(db: Database, epoch: int) -> Lease:
    """Returns the lease of a process that has begun with this epoch."""
    lease = Lease(db, "worker")
    lease.number = epoch
    lease.refresh()
    return lease


class LossyDatabase(Database):
    """Lets hot transactions end badly: `fates` holds how the next ones do, one after the other."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        # "": as it should, "reply lost": committed, and nobody learns of it, "lost": rolled back
        self.fates: list[str] = []
        self.reply_was_lost = False
        self.transactions = 0  # hot ones, so far
        self.writes_lost = 0  # how many of the next ordinary ones are rolled back
        self.served = False  # tasks of the test's own event loop write, too

    @contextmanager
    def write(self) -> Iterator[Connection]:
        if self.served and asyncio._get_running_loop() is not None:
            raise AssertionError(
                "what is asked in the event loop waits for a lock that only the loop can give back:"
                " await asyncio.to_thread(...)"
            )
        with super().write() as tx:
            yield tx
            if self.writes_lost:
                self.writes_lost -= 1
                raise Unavailable("The connection is gone.")

    @asynccontextmanager
    async def hot(self) -> AsyncIterator[HotTx]:
        fate = self.fates.pop(0) if self.fates else ""
        self.transactions += 1
        async with super().hot() as tx:
            yield tx
            if fate == "lost":
                raise Unavailable("The connection is gone.")
        if fate == "reply lost":
            self.reply_was_lost = True
            raise Unavailable("The connection is gone.")


class ScriptedLink:
    """Stands for a Link without a wire: it keeps what it is given, and the test says what is
    answered. It makes one submission a segment.
    """

    def __init__(self, turn: Turn, window: int) -> None:
        self.turn = turn
        self.window = window
        self.state = LinkState.BOUND
        self.submitted: list[Submission] = []  # all, in order
        self.open: dict[tuple[str, int], Submission] = {}  # not answered
        self.acknowledged: list[Receipt] = []
        self.refs = 0

    def room(self) -> int:
        return max(0, self.window - len(self.open)) if self.state is LinkState.BOUND else 0

    def prepare(self, message: Outgoing) -> list[Submission]:
        return [
            Submission(
                message_id=message.message_id,
                part=part,
                parts=1 << (part - 1),
                attempt=message.attempt,
                sender=message.sender,
                recipient=message.recipient,
                data=message,
            )
            for part in range(1, message.segments + 1)
        ]

    def submit(self, submissions: Sequence[Submission]) -> None:
        assert len(submissions) <= self.room(), "more than there is room for"
        self.submitted += submissions
        self.open |= {
            (submission.message_id, submission.part): submission for submission in submissions
        }

    def acknowledge(self, receipts: Sequence[Receipt]) -> None:
        self.acknowledged += receipts

    async def start(self) -> None:
        self.turn.on_state(self.state, "")

    async def close(self, grace_s: float) -> None:
        self.state = LinkState.CLOSED
        self.answer(*self.open.values(), outcome=SubmitOutcome.UNANSWERED)

    def answer(
        self,
        *submissions: Submission,
        outcome: SubmitOutcome = SubmitOutcome.ACCEPTED,
        ref: str | None = None,
        late: bool = False,
        command_status: int = 0,
    ) -> list[str]:
        """Lets the carrier answer these, each with an id of its own unless one is given, and
        returns those ids.
        """
        refs = []
        for submission in submissions:
            self.refs += 1
            accepted_ref = (ref or f"{self.refs:x}a") if outcome is SubmitOutcome.ACCEPTED else None
            refs.append(accepted_ref or "")
            if not late:
                self.open.pop((submission.message_id, submission.part), None)
            self.turn.on_answers(
                [
                    SubmitAnswer(
                        message_id=submission.message_id,
                        part=submission.part,
                        parts=submission.parts,
                        attempt=submission.attempt,
                        outcome=outcome,
                        ref=accepted_ref,
                        command_status=command_status,
                        late=late,
                    )
                ]
            )
        return refs

    def receive(
        self,
        ref: str | None,
        recipient: str | None,
        state: ReceiptState | None = ReceiptState.DELIVRD,
        *,
        error: str | None = None,
        raw: bytes = b"",
        sender: str | None = SENDER,
        reference: int | None = None,
    ) -> Receipt:
        """Lets a delivery receipt come in."""
        receipt = Receipt(
            ref=ref,
            state=state,
            error=error,
            recipient=recipient,
            sender=sender,
            user_message_reference=reference,
            raw=raw,
            token=object(),
        )
        self.turn.on_receipts([receipt])
        return receipt


class Row(NamedTuple):
    """Holds what the tests look at of a message."""

    id: str
    recipient: int
    status: str
    error_code: str | None
    credits: int
    refunded: int
    parts_accepted: int
    parts_delivered: int


class House:
    """Holds one account with a sender and credits, and one carrier with a route to it. `turn()`
    gives the carrier's turn and scripted link.
    """

    def __init__(
        self, url: str, database: type[LossyDatabase] = LossyDatabase, like: "House | None" = None
    ) -> None:
        self.db = database(url)
        self.cache = ConfigCache(self.db)
        self.woken: list[set[int]] = []
        self.queue = FairQueue()
        self.acceptor = Acceptor(self.db, self.cache, self.woken.append, self.queue)
        self.amina_id: str = open_account(self.db, credits=1_000) if like is None else like.amina_id
        self.carrier_id: int = open_carrier(self.db) if like is None else like.carrier_id
        self.may_write = True  # whether this process has shown itself of late
        only_worker(self.db, WORKER)

    async def close(self) -> None:
        await self.db.close_hot()
        self.db.close()

    async def succeeded(self, worker: int = SUCCESSOR) -> int:
        """Lets the process die and another one take over, and returns how many messages went back
        to the queue.
        """
        only_worker(self.db, worker)
        return await take_over(self.db, worker, clock.now_ms())

    def turn(
        self,
        window: int = 100,
        *,
        carrier_id: int | None = None,
        receipts: str = "all",
        id_format: str = "auto",
        worker: int = WORKER,
        kind: type[ScriptedLink] = ScriptedLink,
    ) -> ScriptedLink:
        facts = CarrierFacts(
            self.carrier_id if carrier_id is None else carrier_id, "carrier", receipts, id_format
        )
        turn = Turn(
            self.db,
            facts,
            worker,
            lambda state, detail: None,
            lambda: self.may_write,
            text_sealer(SECRET_KEY).unseal,
        )
        link = kind(turn, window)
        turn.link = link
        return link

    async def send(
        self, to: str | Sequence[str] = "233201234567", text: str = "hello", **more: Any
    ) -> Accepted:
        """Sends by the real Acceptor, under the configuration of this moment. Raises what it
        refuses with. A machine so busy that what was read is too old a moment later is given
        another chance.
        """
        account_id = more.pop("account_id", self.amina_id)
        for _ in range(CHANCES):
            await self.cache.refresh()
            try:
                return await self.acceptor.accept(send_request(account_id, to, text, **more))
            except Unavailable:
                if self.cache.is_fresh:
                    raise
        raise AssertionError(
            f"{CHANCES} times the configuration was out of date when it had been read"
        )

    async def tried(
        self, to: str | Sequence[str] = "233201234567", text: str = "hello", **more: Any
    ) -> Accepted | ServiceError:
        try:
            return await self.send(to, text, **more)
        except ServiceError as error:
            return error

    async def submitted(
        self,
        to: str | Sequence[str] = "233201234567",
        text: str = "hello",
        *,
        window: int = 100,
        **more: Any,
    ) -> ScriptedLink:
        """Makes a send that is on the wire, unanswered."""
        await self.send(to, text, **more)
        link = self.turn(window)
        await link.turn.run_once()
        return link

    # what is stored

    def messages(self) -> list[Row]:
        """Returns all messages, in the order in which they were accepted."""
        with self.db.read() as tx:
            return [
                Row(*row)
                for row in tx.execute(
                    sa.select(*[messages.c[name] for name in Row._fields]).order_by(messages.c.id)
                )
            ]

    def statuses(self) -> list[str]:
        return [
            row.status if row.error_code is None else f"{row.status}/{row.error_code}"
            for row in self.messages()
        ]

    def count(self, table: sa.Table, *where: sa.ColumnElement[bool]) -> int:
        with self.db.read() as tx:
            return int(
                tx.execute(sa.select(sa.func.count()).select_from(table).where(*where)).scalar_one()
            )

    def sends(self) -> int:
        return self.count(sends)

    def allow_transactional(self) -> None:
        """Lets the account send texts that pass opt-outs, from now on."""
        with self.db.write() as tx:
            accounts.change(tx, self.amina_id, transactional=True)
            config.bump(tx)

    def credits(self, account_id: str | None = None) -> int:
        with self.db.read() as tx:
            return wallet.wallet_of(tx, account_id or self.amina_id).sms_credits

    def entries(self, kind: str) -> list[int]:
        """Returns the credits of all ledger entries of a type."""
        with self.db.read() as tx:
            return list(
                tx.execute(
                    sa.select(ledger_entries.c.credits)
                    .where(ledger_entries.c.type == kind)
                    .order_by(ledger_entries.c.id)
                ).scalars()
            )

    def assert_sound(self) -> None:
        """Asserts that the ledger proves the balances, the charges the messages, and that the
        tallies and roll-ups are what those add up to.
        """
        count_all(self.db)
        with self.db.read() as tx:
            read_one_snapshot(tx)
            found = [
                *wallet.verify(tx),
                *verify_charges(tx),
                *verify_tallies(tx),
                *verify_rollups(tx, marked_too=True),
            ]
        assert not found, found

    def carrier_is_removed_from_routes(self) -> None:
        with self.db.write() as tx:
            routing.remove_route(tx, "")

    def carrier_is(self, state: LinkState, *, carrier_id: int | None = None) -> None:
        """Records this as the carrier's state, from now on."""
        with self.db.write() as tx:
            carrier_states.record(
                tx, WORKER, carrier_id or self.carrier_id, state, "", clock.now_ms()
            )
            config.bump(tx)
