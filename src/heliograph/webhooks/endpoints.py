"""An endpoint says to which URL the events of an account go. Endpoints are made, rotated,
disabled, enabled and removed here.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.base import ids
from heliograph.base.addresses import without_query
from heliograph.base.clock import DAY_MS, rfc3339, rfc3339_or_none
from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.base.secrets import Keys, decrypt, encrypt
from heliograph.base.short_texts import invalid_field
from heliograph.database.sealed_columns import Encrypted, SealedColumn
from heliograph.webhooks.http.address_guard import AllowedNetworks, check_url
from heliograph.webhooks.sign import new_secret
from heliograph.webhooks.states import DISABLED, ENABLED, ENDPOINT, FAILING, GONE, OPERATOR
from heliograph.webhooks.tables import (
    KINDS,
    webhook_attempts,
    webhook_deliveries,
    webhook_endpoints,
    webhook_holders,
    webhook_queue,
)

PREFIX: Final = "whe"
# of each mode; each event is written once, and waits once for each of them
ENDPOINTS_PER_ACCOUNT_MAX: Final = 50
# for so long the former secret signs too (docs/webhooks.md, "A new secret")
ROTATION_MS: Final = 24 * 3_600_000
# from its removal until its rows go: no POST and no transaction that knows it still goes on then
REMOVED_MS: Final = 60_000
DISABLED_TOLD_MS: Final = 7 * DAY_MS  # one that disabled itself longer ago is known by now
PURPOSE: Final = "webhook secret"
SEALED: Final = tuple(
    SealedColumn(name, column, lambda keys: Encrypted(keys, PURPOSE))
    for name, column in (
        ("webhook_secrets", webhook_endpoints.c.secret),
        ("former_webhook_secrets", webhook_endpoints.c.former_secret),
    )
)


class WebhookEndpoint(NamedTuple):
    """Describes an endpoint without its secrets. Ids are raw."""

    id: str
    account_id: str
    sandbox: bool
    url: str
    kinds: tuple[str, ...]
    include_customers: bool
    former_until_ms: int | None
    disabled_at_ms: int | None
    disabled_reason: str | None
    failing_since_ms: int | None
    created_at_ms: int

    @property
    def address(self) -> str:
        """Returns the URL as operators see it."""
        return without_query(self.url)


_COLUMNS: Final = [webhook_endpoints.c[name] for name in WebhookEndpoint._fields]
# neither of `heliograph listen` nor removed
_ORDINARY: Final = webhook_endpoints.c.listens_until_ms.is_(None)


def _of_row(row: sa.Row[Any]) -> WebhookEndpoint:
    endpoint = WebhookEndpoint(**row._asdict())
    stored: Any = endpoint.kinds  # a text, until here
    return endpoint._replace(kinds=tuple(stored.split(",")))


def read_kinds(given: Iterable[str]) -> tuple[str, ...]:
    """Reads kinds of events, each once, in the order of `KINDS`; `all` is all of them. Raises
    InvalidRequest.
    """
    asked = set(given)
    for kind in sorted(asked):
        if kind != "all" and kind not in KINDS:
            raise invalid_field(
                "events", f"must be all, or among {', '.join(KINDS)}, not {quote_value(kind)}"
            )
    if not asked:
        raise invalid_field("events", f"must name at least one of {', '.join(KINDS)}, or all")
    return tuple(kind for kind in KINDS if kind in asked or "all" in asked)


def add(
    tx: Connection,
    account_id: str,
    url: str,
    kinds: Iterable[str],
    *,
    sandbox: bool,
    include_customers: bool,
    secret_key: Keys,
    allow: AllowedNetworks,
    listens_until_ms: int | None = None,
    now_ms: int,
) -> tuple[WebhookEndpoint, str]:
    """Makes a new endpoint, and returns it with its secret, which is shown now, and stored
    encrypted. Raises NotFound and AccountClosed for the account, InvalidRequest.
    """
    check_url(url, allow)
    chosen_kinds = read_kinds(kinds)
    # two at once wait for each other
    account = accounts.require_open(accounts.lock(tx, account_id))
    accounts.require_mode(account, sandbox=sandbox)
    if (
        listens_until_ms is None
        and _count(tx, account.id, sandbox=sandbox) >= ENDPOINTS_PER_ACCOUNT_MAX
    ):
        raise invalid_field(
            "url",
            f"cannot be added: an account has at most {ENDPOINTS_PER_ACCOUNT_MAX} endpoints in each"
            " mode; remove one first",
        )
    secret = new_secret()
    endpoint = WebhookEndpoint(
        ids.raw_of_number(ids.new_number(now_ms)),
        account.id,
        sandbox,
        url=url,
        kinds=chosen_kinds,
        include_customers=include_customers,
        former_until_ms=None,
        disabled_at_ms=None,
        disabled_reason=None,
        failing_since_ms=None,
        created_at_ms=now_ms,
    )
    tx.execute(
        webhook_endpoints.insert().values(
            endpoint._asdict()
            | {
                "kinds": ",".join(chosen_kinds),
                "secret": encrypt(secret_key, PURPOSE, secret),
                "listens_until_ms": listens_until_ms,
            }
        )
    )
    return endpoint, secret


def _count(tx: Connection, account_id: str, *, sandbox: bool) -> int:
    endpoint = webhook_endpoints.c
    query = sa.select(sa.func.count()).where(
        endpoint.account_id == account_id, endpoint.sandbox.is_(sandbox), _ORDINARY
    )
    return int(tx.execute(query).scalar_one())


def all_endpoints(
    tx: Connection, account_id: str | None = None, *, limit: int
) -> list[WebhookEndpoint]:
    """Returns an account's endpoints, or everybody's, the oldest first."""
    query = sa.select(*_COLUMNS).where(_ORDINARY).order_by(webhook_endpoints.c.id).limit(limit)
    return [
        _of_row(row)
        for row in tx.execute(
            query
            if account_id is None
            else query.where(webhook_endpoints.c.account_id == account_id)
        )
    ]


def count_enabled(tx: Connection) -> int:
    """Returns how many enabled endpoints there are, of everybody's."""
    return int(
        tx.execute(
            sa.select(sa.func.count()).where(
                _ORDINARY, webhook_endpoints.c.disabled_at_ms.is_(None)
            )
        ).scalar_one()
    )


def failing_endpoints(
    tx: Connection, *, failing_before_ms: int, disabled_after_ms: int, limit: int
) -> list[WebhookEndpoint]:
    """Returns those that have met nothing but failures since then or longer, and those that their
    own failures have disabled since then.
    """
    endpoint = webhook_endpoints.c
    fails = endpoint.disabled_at_ms.is_(None) & (endpoint.failing_since_ms <= failing_before_ms)
    disabled = endpoint.disabled_reason.in_((GONE, FAILING)) & (
        endpoint.disabled_at_ms >= disabled_after_ms
    )
    return [
        _of_row(row)
        for row in tx.execute(
            sa.select(*_COLUMNS)
            .where(_ORDINARY, fails | disabled)
            .order_by(endpoint.id)
            .limit(limit)
        )
    ]


def endpoint_of(tx: Connection, endpoint_id: str, *, is_locked: bool = False) -> WebhookEndpoint:
    """Returns the endpoint with this id in text form. With `is_locked`, it is kept from every other
    change until the transaction ends. Raises NotFound.
    """
    query = sa.select(*_COLUMNS).where(webhook_endpoints.c.id == raw_id(endpoint_id), _ORDINARY)
    row = tx.execute(query.with_for_update() if is_locked else query).one_or_none()
    if row is None:
        raise _unknown(endpoint_id)
    return _of_row(row)


def text_id(endpoint_id: str) -> str:
    """Returns the text form of an endpoint's raw id."""
    return ids.text_of_raw(PREFIX, endpoint_id)


def raw_id(endpoint_id: str) -> str:
    """Returns the raw form of an endpoint's id. Raises NotFound."""
    raw = ids.raw_of_text(PREFIX, endpoint_id)
    if raw is None:
        raise _unknown(endpoint_id)
    return raw


def secrets_of(
    tx: Connection, endpoint_id: str, secret_key: Keys, now_ms: int
) -> tuple[str, str | None]:
    """Returns the secret that signs, and the former one for as long as that signs, too. The id is
    raw. Raises SecretUnreadable, NotFound.
    """
    columns = webhook_endpoints.c
    row = tx.execute(
        sa.select(columns.secret, columns.former_secret, columns.former_until_ms).where(
            columns.id == endpoint_id
        )
    ).one_or_none()
    if row is None:
        raise NotFound("There is no such webhook endpoint.")
    return _secrets(row.secret, row.former_secret, row.former_until_ms, secret_key, now_ms)


def _secrets(
    secret: str, former: str | None, former_until_ms: int | None, secret_key: Keys, now_ms: int
) -> tuple[str, str | None]:
    is_rotating = former is not None and former_until_ms is not None and now_ms < former_until_ms
    return decrypt(secret_key, PURPOSE, secret), (
        decrypt(secret_key, PURPOSE, former) if former is not None and is_rotating else None
    )


def rotate(
    tx: Connection, endpoint_id: str, secret_key: Keys, *, now_ms: int
) -> tuple[WebhookEndpoint, str]:
    """Makes a new secret; the present one signs beside it for 24 h, or until `finish_rotation`.
    Raises NotFound, and InvalidRequest while a rotation goes on: a third secret would take from
    the receiver the one that it has.
    """
    endpoint = endpoint_of(tx, endpoint_id, is_locked=True)
    if endpoint.former_until_ms is not None and now_ms < endpoint.former_until_ms:
        raise invalid_field(
            "endpoint", "is being rotated already; finish that first, with --finish"
        )
    secret, columns = new_secret(), webhook_endpoints.c
    tx.execute(
        webhook_endpoints.update()
        .where(columns.id == endpoint.id)
        .values(
            former_secret=columns.secret,
            former_until_ms=now_ms + ROTATION_MS,
            secret=encrypt(secret_key, PURPOSE, secret),
        )
    )
    return endpoint_of(tx, endpoint_id), secret


def finish_rotation(tx: Connection, endpoint_id: str) -> WebhookEndpoint:
    """Ends a rotation: the former secret signs no more. Raises NotFound."""
    endpoint = endpoint_of(tx, endpoint_id, is_locked=True)
    tx.execute(
        webhook_endpoints.update()
        .where(webhook_endpoints.c.id == endpoint.id)
        .values(former_secret=None, former_until_ms=None)
    )
    return endpoint_of(tx, endpoint_id)


def disable(tx: Connection, endpoint_id: str, *, now_ms: int) -> WebhookEndpoint:
    """Disables an endpoint: nothing more goes there; its events are kept, and can be replayed.
    Raises NotFound.
    """
    endpoint = endpoint_of(tx, endpoint_id, is_locked=True)
    _disable(tx, webhook_endpoints.c.id == endpoint.id, now_ms)
    return endpoint_of(tx, endpoint_id)


def disable_all(tx: Connection, account_id: str, *, now_ms: int) -> None:
    """Disables every endpoint of the account (raw id), of both modes: nothing more goes there."""
    _disable(tx, webhook_endpoints.c.account_id == account_id, now_ms)


def enable(tx: Connection, endpoint_id: str) -> WebhookEndpoint:
    """Lets events go there again from now on; what it missed can be replayed. Raises NotFound,
    AccountClosed.
    """
    accounts.keep_open(tx, endpoint_of(tx, endpoint_id).account_id)
    endpoint = endpoint_of(tx, endpoint_id, is_locked=True)
    tx.execute(
        webhook_endpoints.update()
        .where(webhook_endpoints.c.id == endpoint.id, sa.text(ENDPOINT.may_become(ENABLED)))
        .values(disabled_at_ms=None, disabled_reason=None, failing_since_ms=None)
    )
    return endpoint_of(tx, endpoint_id)


def listen_until(tx: Connection, endpoint_id: str, until_ms: int) -> None:
    """Keeps an endpoint of `heliograph listen` until that moment. The id is raw."""
    tx.execute(
        webhook_endpoints.update()
        .where(webhook_endpoints.c.id == endpoint_id, ~_ORDINARY)
        .values(listens_until_ms=until_ms)
    )


def remove(tx: Connection, endpoint_id: str, *, now_ms: int) -> None:
    """Removes an endpoint: nobody sees it any more, and nothing more is posted to it. Raises
    NotFound.

    Its rows go a minute later (`forget_endpoint.find_gone`). Until then whoever posts to it
    finds it disabled, ends its POSTs and stores what came of them.
    """
    endpoint = endpoint_of(tx, endpoint_id, is_locked=True)
    _disable(tx, webhook_endpoints.c.id == endpoint.id, now_ms)
    tx.execute(
        webhook_endpoints.update()
        .where(webhook_endpoints.c.id == endpoint.id)
        .values(listens_until_ms=now_ms + REMOVED_MS)
    )


def forget(tx: Connection, endpoint_ids: Sequence[str]) -> None:
    """Deletes these endpoints, by raw id, and what became of their events, all at once. It is
    for the endpoints of a `heliograph listen` only.
    """
    for table, column in (
        (webhook_queue, webhook_queue.c.endpoint_id),
        (webhook_holders, webhook_holders.c.endpoint_id),
        (webhook_deliveries, webhook_deliveries.c.endpoint_id),
        (webhook_attempts, webhook_attempts.c.endpoint_id),
        (webhook_endpoints, webhook_endpoints.c.id),
    ):
        tx.execute(table.delete().where(column.in_(endpoint_ids)))


def _disable(tx: Connection, which: sa.ColumnElement[bool], now_ms: int) -> None:
    """Disables these endpoints for the operator. One that is disabled already stays as it is."""
    tx.execute(
        webhook_endpoints.update()
        .where(which, sa.text(ENDPOINT.may_become(DISABLED)))
        .values(disabled_at_ms=now_ms, disabled_reason=OPERATOR, failing_since_ms=None)
    )


def _unknown(endpoint_id: str) -> NotFound:
    return NotFound(f"There is no webhook endpoint {quote_value(endpoint_id)}.")


def as_record(endpoint: WebhookEndpoint, account_id: str) -> dict[str, Any]:
    """Returns an endpoint as commands show it. `account_id` is in text form."""
    return {
        "id": text_id(endpoint.id),
        "account_id": account_id,
        "mode": "sandbox" if endpoint.sandbox else "live",
        "url": endpoint.url,
        "events": list(endpoint.kinds),
        "include_customers": endpoint.include_customers,
        "status": ENABLED if endpoint.disabled_at_ms is None else DISABLED,
        "disabled_at": rfc3339_or_none(endpoint.disabled_at_ms),
        "disabled_reason": endpoint.disabled_reason,
        "failing_since": rfc3339_or_none(endpoint.failing_since_ms),
        "rotates_until": rfc3339_or_none(endpoint.former_until_ms),
        "created_at": rfc3339(endpoint.created_at_ms),
    }
