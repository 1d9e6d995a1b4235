"""Keeps who is told of alerts: email addresses, and the URLs of webhooks, each with a secret."""

from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import users
from heliograph.alerts.tables import alert_recipients, alert_tellings
from heliograph.alerts.upsert import lock_table
from heliograph.base import ids
from heliograph.base.errors import DoneAlready, InvalidRequest, NotFound
from heliograph.base.secrets import Keys, decrypt, encrypt
from heliograph.base.short_texts import invalid_field
from heliograph.database.sealed_columns import Encrypted, SealedColumn
from heliograph.webhooks.http.address_guard import AllowedNetworks, check_url
from heliograph.webhooks.sign import new_secret

RECIPIENT_PREFIX: Final = "alr"
RECIPIENTS_MAX: Final = 20  # each is told of each alert, and all at once
PURPOSE: Final = "alert webhook secret"
SEALED: Final = (
    SealedColumn(
        "alert_webhook_secrets",
        alert_recipients.c.secret,
        lambda keys: Encrypted(keys, PURPOSE),
    ),
)


class AlertRecipient(NamedTuple):
    """Describes who is told. `id` is raw."""

    id: str
    address: str
    is_webhook: bool
    created_at_ms: int

    @property
    def text_id(self) -> str:
        return ids.text_of_raw(RECIPIENT_PREFIX, self.id)


class AddedRecipient(NamedTuple):
    """Holds a new recipient and, if it is a webhook, the secret that it is shown once."""

    recipient: AlertRecipient
    secret: str | None


def all_recipients(tx: Connection) -> list[AlertRecipient]:
    """Returns all recipients, the oldest first."""
    columns = alert_recipients.c
    signs = columns.secret.is_not(None).label("signs")
    query = sa.select(columns.id, columns.address, signs, columns.created_at_ms)
    return [
        AlertRecipient(row.id, row.address, bool(row.signs), row.created_at_ms)
        for row in tx.execute(query.order_by(columns.id).limit(RECIPIENTS_MAX))
    ]


def recipient_of(tx: Connection, text_id: str) -> AlertRecipient:
    """Returns the recipient with this id in text form. Raises NotFound."""
    raw = ids.raw_of_text(RECIPIENT_PREFIX, text_id)
    found = [recipient for recipient in all_recipients(tx) if recipient.id == raw]
    if not found:
        raise NotFound("No recipient of alerts has this id.")
    return found[0]


def add_recipient(
    tx: Connection, address: str, *, secret_key: Keys, allow: AllowedNetworks, now_ms: int
) -> AddedRecipient:
    """Adds an email address, or a URL, for which a secret is made. Raises InvalidRequest, and
    DoneAlready for one that is told already.
    """
    is_webhook = "://" in address
    if is_webhook:
        try:
            check_url(address, allow)
        except InvalidRequest as error:
            raise invalid_field("address", error.fields[0].message) from error
    else:
        try:
            address = users.read_email(address)
        except InvalidRequest as error:
            raise invalid_field("address", error.fields[0].message) from error
    lock_table(tx, alert_recipients)  # of two at once, each would add the same address
    present = all_recipients(tx)
    if any(recipient.address == address for recipient in present):
        raise DoneAlready(f"{address} is told already.")
    if len(present) >= RECIPIENTS_MAX:
        raise invalid_field(
            "address", f"cannot be added: there are {RECIPIENTS_MAX}, remove one first"
        )
    secret = new_secret() if is_webhook else None
    recipient = AlertRecipient(
        ids.raw_of_number(ids.new_number(now_ms)), address, is_webhook, now_ms
    )
    tx.execute(
        alert_recipients.insert().values(
            id=recipient.id,
            address=address,
            secret=None if secret is None else encrypt(secret_key, PURPOSE, secret),
            created_at_ms=now_ms,
        )
    )
    return AddedRecipient(recipient, secret)


def remove_recipient(tx: Connection, text_id: str) -> AlertRecipient:
    """Removes a recipient, who is told nothing more. Raises NotFound."""
    lock_table(tx, alert_recipients)  # of two at once, one finds none
    recipient = recipient_of(tx, text_id)
    tx.execute(
        alert_tellings.update()
        .where(
            alert_tellings.c.recipient_id == recipient.id, alert_tellings.c.due_at_ms.is_not(None)
        )
        .values(due_at_ms=None, failure="The recipient was removed.")
    )
    tx.execute(alert_recipients.delete().where(alert_recipients.c.id == recipient.id))
    return recipient


def secret_of(tx: Connection, recipient_id: str, secret_key: Keys) -> str | None:
    """Returns the secret that signs what goes to a recipient (raw id), or None if it has none.
    Raises SecretUnreadable.
    """
    query = sa.select(alert_recipients.c.secret).where(alert_recipients.c.id == recipient_id)
    stored = tx.execute(query).scalar()
    return None if stored is None else decrypt(secret_key, PURPOSE, stored)
