"""Holds one-time passwords for tests: the real OtpExtension and Verifier, below HTTP."""

import asyncio
from typing import NamedTuple

from heliograph.base import ids
from heliograph.base.errors import ServiceError
from heliograph.messages.accept import Acceptor
from heliograph.otp.code import Codes
from heliograph.otp.issue import OtpExtension, OtpRequest
from heliograph.otp.sealed_text import text_sealer
from heliograph.otp.verify import VerificationTry, Verified, Verifier
from heliograph.text import parse_phone
from tests.support.capability.sending import House
from tests.support.factories import PHONE, SECRET_KEY, SENDER

Refusal = tuple[str, int | None]  # the reason, and the seconds or tries that are left


class Sent(NamedTuple):
    """Holds what was sent. `id` is raw."""

    id: str
    code: str


class OtpHouse(House):
    """Stands for a House that sends codes, and takes them back."""

    def __init__(self, url: str, like: House | None = None) -> None:
        """Opens the house. `like` is another process of the same house, which has opened its
        accounts and carriers.
        """
        super().__init__(url, like=like)
        self.codes, self.sealer = Codes(SECRET_KEY), text_sealer(SECRET_KEY)
        self.acceptor = Acceptor(
            self.db, self.cache, self.woken.append, self.queue, {"otp": OtpExtension()}
        )
        self.verifier = Verifier(self.db, self.cache, self.codes)

    def request(
        self,
        phone: str = PHONE,
        *,
        code: str | None = None,
        account_id: str | None = None,
        sandbox: bool = False,
        sender: str = SENDER,
    ) -> tuple[OtpRequest, str]:
        """Returns a request as POST /otp/send makes it, and its code."""
        number, whose = ids.new_number(), account_id or self.amina_id
        code = code or self.codes.make(sandbox=sandbox)
        return OtpRequest(
            number=number,
            account_id=whose,
            key_account_id=whose,
            sandbox=sandbox,
            sender=sender,
            text=self.sealer.seal(f"{code} is your code"),
            encoding="GSM-7",
            segments=1,
            recipients=[phone],
            phones=[parse_phone(phone)],
            reference=None,
            validity_s=300,
            dry_run=False,
            warnings=[],
            type="otp",
            path="POST /otp/send",
            code_hmac=self.codes.keyed(
                ids.raw_of_number(number), whose, int(phone), code, sandbox=sandbox
            ),
        ), code

    async def asked(self, *requests: tuple[OtpRequest, str]) -> list[Sent | Refusal]:
        """Returns what becomes of these, which come together."""
        await self.cache.refresh()
        outcomes = await asyncio.gather(
            *(self.acceptor.accept(request) for request, _ in requests), return_exceptions=True
        )
        return [
            refused(outcome) if isinstance(outcome, BaseException) else Sent(outcome.send.id, code)
            for outcome, (_, code) in zip(outcomes, requests, strict=True)
        ]

    async def ask(self, phone: str = PHONE, **more: str | bool) -> Sent | Refusal:
        return (await self.asked(self.request(phone, **more)))[0]  # type: ignore[arg-type]

    async def sent(self, phone: str = PHONE, **more: str | bool) -> Sent:
        """Sends one that goes out."""
        outcome = await self.ask(phone, **more)
        assert isinstance(outcome, Sent), outcome
        return outcome

    def given(
        self, code: str, phone: str = PHONE, *, account_id: str | None = None, sandbox: bool = False
    ) -> VerificationTry:
        whose = account_id or self.amina_id
        return VerificationTry(
            number=ids.new_number(),
            account_id=whose,
            key_account_id=whose,
            sandbox=sandbox,
            phone=int(phone),
            code=code,
            warnings=[],
        )

    async def give(
        self, code: str, phone: str = PHONE, *, account_id: str | None = None, sandbox: bool = False
    ) -> str | Refusal:
        """Gives a code back, and returns `verified`, or why not."""
        return (
            await self.given_together(
                self.given(code, phone, account_id=account_id, sandbox=sandbox)
            )
        )[0]

    async def given_together(self, *tries: VerificationTry) -> list[str | Refusal]:
        outcomes = await asyncio.gather(
            *(self.verifier.verify(one) for one in tries), return_exceptions=True
        )
        return [
            "verified" if isinstance(outcome, Verified) else refused(outcome)
            for outcome in outcomes
        ]


def refused(error: BaseException) -> Refusal:
    if not isinstance(error, ServiceError):
        raise error
    return error.reason, error.extra.get("attempts_remaining", error.retry_after_s)


def went_out(outcomes: list[Sent | Refusal]) -> int:
    """Returns how many of these went out."""
    return sum(isinstance(outcome, Sent) for outcome in outcomes)


def wrong(code: str, by: int = 1) -> str:
    return f"{(int(code) + by) % 10**6:06d}"
