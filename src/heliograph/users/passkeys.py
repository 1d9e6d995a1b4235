"""A passkey (WebAuthn) is a key that a device keeps, and signs with after its user has unlocked it.
So one proves two things at once, what somebody has, and a finger, a face or a PIN. It names its
user.
"""

import json
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from heliograph.base import ids
from heliograph.base.errors import NotFound, Unauthorized
from heliograph.base.secrets import Keys
from heliograph.base.short_texts import invalid_field, one_line
from heliograph.database.reads import records_of
from heliograph.users import passkey_challenge
from heliograph.users.sign_ins import begin_session
from heliograph.users.tables import PASSKEY_NAME_MAX, passkeys
from heliograph.users.user import User, end_all_sessions

if TYPE_CHECKING:
    from fido2.server import Fido2Server

PREFIX: Final = "pky"
PASSKEYS_MAX: Final = 20  # of a user; nobody has more devices
ANSWER_CHARACTERS_MAX: Final = 16_384  # ten times what a passkey answers
CREDENTIAL_ID_OCTETS_MAX: Final = 1_023  # WebAuthn, section 4
OF_ANOTHER: Final = "This passkey belongs to another user than the one who is signing in."
# what the library raises for an answer that it cannot read
_UNREADABLE: Final = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    NotImplementedError,
    RecursionError,
    struct.error,
)


class PasskeyRefused(Unauthorized):
    """This passkey is not known here, or its answer came too late. Try again."""

    reason = "passkey_refused"


class PasskeySite(NamedTuple):
    """Says for which site passkeys are: `name` is the host, `origin` what a browser calls it."""

    name: str
    origin: str


def site_of(base_url: str | None) -> PasskeySite | None:
    """Returns for which site passkeys are made where the service has this public address, or None:
    they are for a host with a name, not a number, and browsers make them over HTTPS, and for
    localhost.
    """
    parts = urlsplit(base_url or "")
    name = parts.hostname or ""
    is_number = name.replace(".", "").isdigit() or ":" in name
    if not name or is_number or (parts.scheme != "https" and name != "localhost"):
        return None
    # as browsers say it: without the port that is usual
    usual = {"https": 443, "http": 80}.get(parts.scheme)
    port = "" if parts.port in (None, usual) else f":{parts.port}"
    return PasskeySite(name, f"{parts.scheme}://{name}{port}".lower())


class Passkey(NamedTuple):
    """Holds a passkey of a user, as it is listed. `id` is raw."""

    id: str
    name: str
    made_at_ms: int
    used_at_ms: int | None


class Asker(NamedTuple):
    """Says for which site, with which keys of the service and which secret of the browser an answer
    of a passkey is asked for.
    """

    site: PasskeySite
    keys: Keys
    browser: str


def text_id(passkey: Passkey) -> str:
    """Returns the passkey's id in text form, `pky_…`."""
    return ids.text_of_raw(PREFIX, passkey.id)


def passkeys_of(tx: Connection, user_id: str) -> list[Passkey]:
    """Returns the passkeys of a user (raw id), the oldest first."""
    columns = passkeys.c
    query = sa.select(columns.id, columns.name, columns.made_at_ms, columns.used_at_ms)
    return records_of(Passkey, tx.execute(query.where(_belongs_to(user_id)).order_by(columns.id)))


def registration_options(
    tx: Connection, asker: Asker, user: User, *, now_ms: int
) -> dict[str, Any]:
    """Returns what a browser has to know to make a passkey for this user, who has none yet on the
    same device. Raises InvalidRequest if there are too many.
    """
    from fido2.webauthn import PublicKeyCredentialUserEntity, ResidentKeyRequirement

    query = sa.select(passkeys.c.credential).where(_belongs_to(user.id))
    known = [_credential(row.credential) for row in tx.execute(query)]
    if len(known) >= PASSKEYS_MAX:
        raise invalid_field("name", f"cannot be added: a user has at most {PASSKEYS_MAX} passkeys")
    options, _ = _server(asker.site).register_begin(
        PublicKeyCredentialUserEntity(
            id=_handle(user.id), name=user.email, display_name=user.email
        ),
        known,
        resident_key_requirement=ResidentKeyRequirement.REQUIRED,
        user_verification=_verified(),
        challenge=passkey_challenge.new_challenge(asker.keys, _making(asker, user), now_ms=now_ms),
    )
    return dict(options)


def make(tx: Connection, asker: Asker, user: User, name: str, answer: str, *, now_ms: int) -> None:
    """Stores the passkey that the browser has made, under this name.

    Raises InvalidRequest for an invalid name, and PasskeyRefused.
    """
    called = one_line("name", name, most=PASSKEY_NAME_MAX)
    registration_options(tx, asker, user, now_ms=now_ms)  # there may be too many by now
    with _reading():
        given = json.loads(_short(answer))
        challenge = _challenge_of(given)
        _require_ours(asker, _making(asker, user), challenge, now_ms)
        made = _server(asker.site).register_complete(_state(challenge), given)
        credential = made.credential_data
        if credential is None or not _is_usable(credential.public_key):
            raise PasskeyRefused()
    if len(credential.credential_id) > CREDENTIAL_ID_OCTETS_MAX:
        raise PasskeyRefused()
    _use_up(tx, challenge)
    row = {
        "id": ids.raw_of_number(ids.new_number(now_ms)),
        "user_id": user.id,
        "name": called,
        "credential_id": credential.credential_id,
        "credential": bytes(credential),
        "signatures": made.counter,
        "made_at_ms": now_ms,
    }
    try:
        with tx.begin_nested():
            tx.execute(passkeys.insert().values(row))
    except IntegrityError as error:  # it is there, of this user or of another one
        raise PasskeyRefused() from error


def authentication_options(asker: Asker, *, now_ms: int) -> dict[str, Any]:
    """Returns what a browser has to know to sign in with whatever passkey it has."""
    options, _ = _server(asker.site).authenticate_begin(
        user_verification=_verified(),
        challenge=passkey_challenge.new_challenge(asker.keys, _signing_in(asker), now_ms=now_ms),
    )
    return dict(options)


def sign_in(
    tx: Connection,
    asker: Asker,
    answer: str,
    *,
    only: User | None = None,
    seen_by: str,
    now_ms: int,
) -> tuple[str, str]:
    """Returns the raw id of the user whose passkey has answered, and the secret of the session that
    begins. No further code is asked for. `only` is who has begun to sign in; a passkey of another
    user is refused. `seen_by` is the browser's User-Agent.

    Raises PasskeyRefused.
    """
    with _reading():
        from fido2.webauthn import AuthenticationResponse

        given = json.loads(_short(answer))
        challenge = _challenge_of(given)
        _require_ours(asker, _signing_in(asker), challenge, now_ms)
        response = AuthenticationResponse.from_dict(given)
        row = tx.execute(
            sa.select(passkeys.c.id, passkeys.c.user_id, passkeys.c.credential).where(
                passkeys.c.credential_id == response.raw_id
            )
        ).first()
        if row is None or response.response.user_handle != _handle(row.user_id):
            raise PasskeyRefused()
        if only is not None and row.user_id != only.id:
            raise PasskeyRefused(OF_ANOTHER)
        _server(asker.site).authenticate_complete(
            _state(challenge), [_credential(row.credential)], response
        )
        counted = response.response.authenticator_data.counter
    _use_up(tx, challenge)
    _count(tx, row.id, counted, now_ms)
    session = begin_session(tx, row.user_id, is_two_step=True, seen_by=seen_by, now_ms=now_ms)
    return row.user_id, session


def rename(tx: Connection, user_id: str, passkey_id: str, name: str) -> None:
    """Gives a passkey another name. Raises NotFound, and InvalidRequest for what is not a name."""
    new_name = one_line("name", name, most=PASSKEY_NAME_MAX)
    is_passkey = _is(user_id, passkey_id)
    if tx.execute(passkeys.update().where(is_passkey).values(name=new_name)).rowcount == 0:
        raise NotFound("There is no such passkey.")


def remove(tx: Connection, user_id: str, passkey_id: str) -> None:
    """Removes a passkey: it signs nobody in any more. Raises NotFound."""
    if tx.execute(passkeys.delete().where(_is(user_id, passkey_id))).rowcount == 0:
        raise NotFound("There is no such passkey.")


def remove_all(tx: Connection, user_id: str) -> None:
    """Removes all passkeys of a user (raw id), and ends the user's sessions: whoever has found a
    device may be in one of them.
    """
    tx.execute(passkeys.delete().where(_belongs_to(user_id)))
    end_all_sessions(tx, user_id)


def _count(tx: Connection, passkey_id: str, counted: int, now_ms: int) -> None:
    """Stores how often a passkey has signed. One that has signed less often than before is a copy
    (WebAuthn, section 6.1.1). Many always say 0. Raises PasskeyRefused.
    """
    columns = passkeys.c
    is_later = columns.signatures < counted
    if counted == 0:
        is_later = columns.signatures == 0
    update = passkeys.update().where(columns.id == passkey_id, is_later)
    if tx.execute(update.values(signatures=counted, used_at_ms=now_ms)).rowcount == 0:
        raise PasskeyRefused("This passkey has signed less often than before: it may be a copy.")


@contextmanager
def _reading() -> Iterator[None]:
    """Raises PasskeyRefused in place of the errors that an unreadable answer makes the library
    raise.
    """
    try:
        yield
    except _UNREADABLE as error:
        raise PasskeyRefused() from error


def _short(answer: str) -> str:
    if len(answer) > ANSWER_CHARACTERS_MAX:
        raise PasskeyRefused()
    return answer


def _challenge_of(given: Any) -> bytes:
    """Returns the challenge that an answer says it answers."""
    from fido2.utils import websafe_decode

    client_data = json.loads(websafe_decode(given["response"]["clientDataJSON"]))
    return websafe_decode(client_data["challenge"])


def _require_ours(asker: Asker, bound_to: str, challenge: bytes, now_ms: int) -> None:
    if not passkey_challenge.is_ours(asker.keys, bound_to, challenge, now_ms=now_ms):
        raise PasskeyRefused()


def _use_up(tx: Connection, challenge: bytes) -> None:
    if not passkey_challenge.use(tx, challenge):
        raise PasskeyRefused()


def _signing_in(asker: Asker) -> str:
    return f"sign in {asker.browser}"


def _making(asker: Asker, user: User) -> str:
    return f"make {user.id} {asker.browser}"


def _state(challenge: bytes) -> dict[str, Any]:
    """Returns what the library compares an answer with."""
    from fido2.utils import websafe_encode

    return {"challenge": websafe_encode(challenge), "user_verification": _verified()}


def _server(site: PasskeySite) -> "Fido2Server":
    from fido2.server import Fido2Server  # it takes 50 ms, and few need it
    from fido2.webauthn import PublicKeyCredentialRpEntity

    return Fido2Server(
        PublicKeyCredentialRpEntity(id=site.name, name="Heliograph"),
        verify_origin=lambda origin: origin == site.origin,
    )


def _verified() -> Any:
    from fido2.webauthn import UserVerificationRequirement

    return UserVerificationRequirement.REQUIRED


def _is_usable(public_key: Any) -> bool:
    """Returns whether signatures can be verified with a key, which raises anything else."""
    from cryptography.exceptions import InvalidSignature
    from fido2.cose import CoseKey

    try:
        public_key.verify(b"", b"")
    except InvalidSignature:
        return public_key[3] in CoseKey.supported_algorithms()
    return False


def _credential(stored: bytes) -> Any:
    from fido2.webauthn import AttestedCredentialData

    return AttestedCredentialData(stored)


def _handle(user_id: str) -> bytes:
    """Returns what a passkey names its user by, which says nothing to others."""
    return bytes.fromhex(user_id)


def _belongs_to(user_id: str) -> sa.ColumnElement[bool]:
    return passkeys.c.user_id == user_id


def _is(user_id: str, passkey_id: str) -> sa.ColumnElement[bool]:
    """Selects the passkey with this id in text form, if it is this user's."""
    raw = ids.raw_of_text(PREFIX, passkey_id)
    return sa.false() if raw is None else sa.and_(passkeys.c.id == raw, _belongs_to(user_id))
