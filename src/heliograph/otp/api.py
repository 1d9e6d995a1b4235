"""Serves the endpoints POST /otp/send and POST /otp/verify."""

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.tables import accounts
from heliograph.base import clock, ids
from heliograph.base.errors import InvalidRequest, Unavailable
from heliograph.base.secrets import Keys, Sealer
from heliograph.base.settings import SettingError
from heliograph.base.short_texts import invalid_field
from heliograph.database import secret_key_canary
from heliograph.database.cache import CachedKind, ConfigCache
from heliograph.database.database import Database
from heliograph.messages.accept import Acceptor, SendResult, accept_or_explain
from heliograph.otp.code import ID_PREFIX, Codes
from heliograph.otp.issue import OtpRequest
from heliograph.otp.limits import RESEND_AFTER_S, VALID_MS, NoneOutstanding
from heliograph.otp.other_country import sent_to
from heliograph.otp.request import (
    ANY_CODE,
    PLACE,
    OtpSendRequest,
    OtpVerifyRequest,
    default_text,
    no_phone,
    read_otp_send_request,
    read_otp_verify_request,
)
from heliograph.otp.sealed_text import text_sealer
from heliograph.otp.states import PENDING
from heliograph.otp.verify import VERIFY_PATH, VerificationTry, Verifier
from heliograph.requests import (
    ApiResponse,
    Call,
    Endpoint,
    Handler,
    acting_for_call,
    read_with_home_country,
    sha256_of_body,
)
from heliograph.senders import default_senders
from heliograph.text import count_segments

SEND_PATH: Final = "POST /otp/send"


class OwnDefaults(NamedTuple):
    """Holds the sender and the text of an account's one-time passwords when its request names no
    others.
    """

    sender: str | None  # its default sender
    text: str


def endpoints(
    acceptor: Acceptor, cache: ConfigCache, db: Database, *, secret_key: Keys, service_sender: str
) -> list[Endpoint]:
    """Returns the endpoints. `service_sender` goes out for accounts that have no default sender.
    `acceptor` has `OtpExtension` as extension of the type `otp`.
    """
    return [
        Endpoint(
            "POST",
            "/otp/send",
            "sms.send",
            handle=_sender(acceptor, cache, db, secret_key, service_sender),
        ),
        Endpoint("POST", "/otp/verify", "sms.send", handle=_verifier(cache, db, Codes(secret_key))),
    ]


def _sender(
    acceptor: Acceptor, cache: ConfigCache, db: Database, secret_key: Keys, service_sender: str
) -> Handler:
    sealing = lru_cache(2)(lambda keys: (Codes(keys), text_sealer(keys)))

    async def send(call: Call) -> ApiResponse:
        call.query.finish()
        request = await read_with_home_country(cache, call, read_otp_send_request)
        account_id = await acting_for_call(db, cache, call, SEND_PATH, request.customer_id)
        own = await cache.get(OWN, (account_id, call.principal.sandbox))
        assert own is not None  # accounts are never deleted
        canary = await cache.get(CANARY, 1)
        try:
            codes, sealer = sealing(
                secret_key if canary is None else secret_key_canary.in_use(canary, secret_key)
            )
        # another key came into use, which this process was not started with
        except SettingError as error:
            raise Unavailable(
                "This process does not have the secret key that is in use."
            ) from error
        result = await accept_or_explain(
            acceptor,
            db,
            _request(
                call,
                account_id,
                request,
                own=own,
                codes=codes,
                sealer=sealer,
                service_sender=service_sender,
            ),
            call.in_thread,
        )
        body: dict[str, Any] = {"data": _record(result, request)}
        return ApiResponse(
            {**body, "warnings": request.warnings} if request.warnings else body,
            replayed=result.replayed,
        )

    return send


def _verifier(cache: ConfigCache, db: Database, codes: Codes) -> Handler:
    verifier = Verifier(db, cache, codes)

    async def verify(call: Call) -> ApiResponse:
        call.query.finish()
        request = await read_with_home_country(cache, call, read_otp_verify_request)
        account_id = await acting_for_call(db, cache, call, VERIFY_PATH, request.customer_id)
        read = None if request.phone is None else int(request.phone.digits)
        if request.as_dialled is None:
            assert read is not None  # reading the body has refused every other phone
            return await tried(call, account_id, read, request)
        if read is not None and not call.principal.sandbox:
            with suppress(NoneOutstanding):
                return await tried(call, account_id, read, request)
        sent = await call.in_thread(
            partial(find_recipient, account_id, request.as_dialled, call.principal.sandbox)
        )
        # there a code is right for any phone: the one that was sent it comes first
        if call.principal.sandbox:
            sent = read if sent is None else sent
        elif sent == read:
            sent = None
        if sent is None:
            raise _no_code_sent(request)
        return await tried(call, account_id, sent, request)

    async def tried(
        call: Call, account_id: str, phone: int, request: OtpVerifyRequest
    ) -> ApiResponse:
        who = call.principal
        one = VerificationTry(
            ids.new_number(),
            account_id,
            who.account_id,
            sandbox=who.sandbox,
            phone=phone,
            code=request.code,
            warnings=request.warnings,
        )
        one.idempotency_key, one.body_sha256 = _key(call)
        verified = await verifier.verify(one)
        return ApiResponse({}, replayed=verified.replayed, raw=verified.raw)

    def find_recipient(account_id: str, as_dialled: str, sandbox: bool) -> int | None:
        with db.read() as tx:
            return sent_to(tx, account_id, as_dialled, clock.now_ms(), sandbox=sandbox)

    return verify


def _no_code_sent(request: OtpVerifyRequest) -> InvalidRequest:
    """Returns the refusal for a phone that was given without a country and to which nothing was
    sent. Only the caller knows which country it was sent to.
    """
    if request.phone is None:
        return invalid_field("phone", no_phone(request.as_dialled))
    return NoneOutstanding(
        f"Without countryCode, phone is read as {request.phone.digits}, and there is no unused"
        " one-time password for that number. If countryCode was given to /otp/send, give it here"
        " as well."
    )


def _request(
    call: Call,
    account_id: str,
    request: OtpSendRequest,
    own: OwnDefaults,
    codes: Codes,
    sealer: Sealer,
    service_sender: str,
) -> OtpRequest:
    """Makes a send of one message, whose id is the OTP's. Of the code there are then a hash and a
    sealed text.
    """
    number, sandbox = ids.new_number(), call.principal.sandbox
    code = codes.make(sandbox=sandbox)
    text = request.text or own.text
    encoding, segments = count_segments(text.replace(PLACE, ANY_CODE))
    key, body_sha256 = _key(call)
    return OtpRequest(
        number,
        account_id,
        call.principal.account_id,
        sandbox=sandbox,
        sender=request.sender or own.sender or service_sender,
        text=sealer.seal(text.replace(PLACE, code)),
        encoding=encoding,
        segments=segments,
        recipients=[request.phone.digits],
        phones=[request.phone],
        reference=None,
        validity_s=VALID_MS // 1_000,
        dry_run=False,
        warnings=request.warnings,
        type="otp",
        passes_opt_outs=True,
        idempotency_key=key,
        body_sha256=body_sha256,
        path=SEND_PATH,
        sender_is_ours=request.sender is None and own.sender is None,
        code_hmac=codes.keyed(
            ids.raw_of_number(number), account_id, int(request.phone.digits), code, sandbox=sandbox
        ),
    )


def _key(call: Call) -> tuple[str | None, bytes]:
    return (
        (None, b"")
        if call.idempotency_key is None
        else (call.idempotency_key, sha256_of_body(call.body))
    )


def _record(result: SendResult, request: OtpSendRequest) -> dict[str, Any]:
    """Makes the record from what is stored of the send, and from the body that a replay repeats: so
    a replay is the same by construction.
    """
    send = result.send
    number = int(send.id, 16)
    return {
        "id": ids.text_of_number(ID_PREFIX, number),
        "message_id": ids.text_of_number("msg", number + 1),
        "phone": request.phone.digits,
        "status": PENDING,
        "expires_at": clock.rfc3339(send.created_at_ms + VALID_MS),
        "resend_after_s": RESEND_AFTER_S,
        "credits_used": send.credits_used,
        "sandbox": bool(send.sandbox),
    }


def _load_own(
    tx: Connection, keys: Sequence[tuple[str, bool]]
) -> dict[tuple[str, bool], OwnDefaults]:
    ids_of = {account_id for account_id, _ in keys}
    names = {
        row.id: row.name
        for row in tx.execute(
            sa.select(accounts.c.id, accounts.c.name).where(accounts.c.id.in_(ids_of))
        )
    }
    senders = default_senders(tx, ids_of)
    return {
        (account_id, sandbox): OwnDefaults(
            senders.get((account_id, sandbox)), default_text(names[account_id])
        )
        for account_id, sandbox in keys
        if account_id in names
    }


def _load_canary(tx: Connection, keys: Sequence[int]) -> dict[int, secret_key_canary.Canary]:
    canary = secret_key_canary.load(tx)
    return {} if canary is None else dict.fromkeys(keys, canary)


CANARY: Final = CachedKind("secret canary", _load_canary)  # the one row
OWN: Final = CachedKind("otp", _load_own)  # by raw id and mode
