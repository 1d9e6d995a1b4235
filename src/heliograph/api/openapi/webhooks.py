"""Describes the webhooks that the service sends (OpenAPI 3.1, `webhooks`; docs/api.md, "Events and
webhooks").
"""

from typing import Final, NamedTuple

from heliograph.api.openapi import campaigns, inbound, messages
from heliograph.api.openapi.parts import (
    EXAMPLE_AT,
    EXAMPLE_MS,
    EXAMPLE_PHONE,
    Json,
    always,
    example_id,
    flag,
    identity,
    integer,
    moment,
    money,
    one_of,
    record,
    ref,
    text,
)
from heliograph.opt_outs import OptOutSource
from heliograph.webhooks.tables import (
    CAMPAIGN_COMPLETED,
    CONTACT_OPTED_IN,
    CONTACT_OPTED_OUT,
    KINDS,
    LOW_BALANCE,
    MESSAGE_DELIVERED,
    MESSAGE_FAILED,
    MESSAGE_RECEIVED,
    MESSAGE_SENT,
)

TAG: Final = "Webhooks"
TAG_DESCRIPTION: Final = "The service tells your own server as soon as something has changed."

_ACCOUNT: Final = "^(acc|cus)_[0-9a-hjkmnp-tv-z]{26}$"


def _event(description: str, event: Json, data: Json) -> Json:
    return record(
        description,
        id=identity(
            "evt",
            "The event's id. It is the same at every attempt, so remember it to act on an event"
            " only once.",
        ),
        event=event,
        timestamp=moment("When the change happened."),
        account_id=text(
            "The account it happened to: yours, or one of your Connect customers.", pattern=_ACCOUNT
        ),
        sandbox=flag("True when a sandbox key caused it."),
        data={"description": "The record as it was right after the change.", **data},
    )


SCHEMAS: Final[dict[str, Json]] = {
    "MessageEvent": _event(
        "A message was sent, was delivered or has failed.",
        one_of((MESSAGE_SENT, MESSAGE_DELIVERED, MESSAGE_FAILED), "What happened."),
        ref("MessageRecord"),
    ),
    "InboundEvent": _event(
        "A handset has sent a text to one of the account's numbers.",
        always(MESSAGE_RECEIVED, "What happened."),
        ref("InboundText"),
    ),
    "OptOutEvent": _event(
        "Somebody has opted out, or in again, by whichever way.",
        one_of((CONTACT_OPTED_OUT, CONTACT_OPTED_IN), "What happened."),
        ref("ChangedOptOut"),
    ),
    "ChangedOptOut": record(
        "Who has opted out or in, and of which texts.",
        phone=text("Whose texts they are: E.164 digits."),
        sender=text(
            "The sender whose texts alone are meant. Null: all texts of the account.", nullable=True
        ),
        source=one_of([each.value for each in OptOutSource], "Where this change comes from."),
        keyword=text("The keyword, without case and accents. Null if it was none.", nullable=True),
        inbound_id=identity(
            "inb",
            "The text that was the keyword. Null if it was none, or is not the account's.",
            nullable=True,
        ),
        sandbox=flag("Whether it is of the sandbox."),
    ),
    "CampaignEvent": _event(
        "A campaign was completed.",
        always(CAMPAIGN_COMPLETED, "What happened."),
        ref("CampaignWithStatistics"),
    ),
    "LowBalanceEvent": _event(
        "A wallet ran low.", always(LOW_BALANCE, "What happened."), ref("LowBalance")
    ),
    "LowBalance": record(
        "What a wallet still holds, and its threshold.",
        account_id=text("The account whose wallet it is.", pattern=_ACCOUNT),
        kind=one_of(("credits", "balance"), "Which of the two fell below its threshold."),
        sms_credits=integer("SMS credits left.", minimum=0),
        wallet=record(
            "Money left.",
            balance=money("The wallet's balance."),
            currency=text("Its currency, ISO 4217.", pattern="^[A-Z]{3}$"),
        ),
        threshold={
            "type": "number",
            "minimum": 0,
            "description": "The threshold, in credits or in money.",
        },
    ),
}


def _around(kind: str, number: int, data: Json) -> Json:
    return {
        "id": example_id("evt", number),
        "event": kind,
        "timestamp": EXAMPLE_AT,
        "account_id": example_id("acc"),
        "sandbox": False,
        "data": data,
    }


_DELIVERED: Final = messages.MESSAGE_EXAMPLE
_SENT: Final[Json] = {**_DELIVERED, "status": "sent", "delivered_at": None}
_FAILED: Final[Json] = {
    **_DELIVERED,
    "status": "failed",
    "delivered_at": None,
    "failed_at": _DELIVERED["delivered_at"],
    "error": {
        "code": "undeliverable",
        "message": "The message could not be delivered to the handset.",
    },
}
_LOW: Final[Json] = {
    "account_id": example_id("acc"),
    "kind": "credits",
    "sms_credits": 96,
    "wallet": {"balance": 50, "currency": "GHS"},
    "threshold": 100,
}

_OPTED_OUT: Final[Json] = {
    "phone": EXAMPLE_PHONE,
    "sender": None,
    "source": "keyword",
    "keyword": "stop",
    "inbound_id": example_id("inb"),
    "sandbox": False,
}

_OPTED_IN: Final[Json] = {**_OPTED_OUT, "source": "api", "keyword": None, "inbound_id": None}


class _DescribedEvent(NamedTuple):
    """Describes the webhook of a kind of events. `schema` is the name of the body's."""

    summary: str
    description: str
    schema: str
    example: Json


_TOLD: Final[dict[str, _DescribedEvent]] = {
    MESSAGE_SENT: _DescribedEvent(
        summary="A message was sent",
        description="A carrier has accepted every segment of the message.",
        schema="MessageEvent",
        example=_around(MESSAGE_SENT, 2, _SENT),
    ),
    MESSAGE_DELIVERED: _DescribedEvent(
        summary="A message was delivered",
        description="Every segment of the message has arrived on the handset.",
        schema="MessageEvent",
        example=_around(MESSAGE_DELIVERED, 3, _DELIVERED),
    ),
    MESSAGE_FAILED: _DescribedEvent(
        summary="A message failed",
        description=(
            "The message was refused, could not be delivered, or has expired. `data.error.code`"
            " says which."
        ),
        schema="MessageEvent",
        example=_around(MESSAGE_FAILED, 4, _FAILED),
    ),
    MESSAGE_RECEIVED: _DescribedEvent(
        summary="A text came in",
        description=(
            "A handset has sent a text to one of your numbers, and it is stored. There is one event"
            " for a text, however often the carrier sends it. Of a text that lacks parts,"
            " `data.complete` is false. `data.text` is null if the text is too long for an event:"
            " `GET /inbound/{id}` has it."
        ),
        schema="InboundEvent",
        example=_around(MESSAGE_RECEIVED, 7, inbound.EXAMPLE),
    ),
    CONTACT_OPTED_OUT: _DescribedEvent(
        summary="Somebody has opted out",
        description=(
            "A phone wants no texts of the account any more, or none of one sender: by STOP or"
            " another keyword, `POST /opt-outs`, the portal, a contact that was changed, a file of"
            " contacts, or a command. From then on these texts to it are rejected, and what is"
            " queued for it fails (`blocked`). A phone that had opted out of the same before makes"
            " no event."
        ),
        schema="OptOutEvent",
        example=_around(CONTACT_OPTED_OUT, 8, _OPTED_OUT),
    ),
    CONTACT_OPTED_IN: _DescribedEvent(
        summary="Somebody has opted in again",
        description=(
            "An opt-out was lifted, by START or another keyword, `DELETE /opt-outs/{phone}`, the"
            " portal, a contact that was changed, a file of contacts, or a command. There is one"
            " event for each opt-out: a phone may have one for the account, and others for senders."
        ),
        schema="OptOutEvent",
        example=_around(CONTACT_OPTED_IN, 9, _OPTED_IN),
    ),
    CAMPAIGN_COMPLETED: _DescribedEvent(
        summary="A campaign was completed",
        description=(
            "No message of the campaign is queued any more. Delivery receipts may still come, and"
            " the statistics with them."
        ),
        schema="CampaignEvent",
        example=_around(CAMPAIGN_COMPLETED, 5, campaigns.STATISTICS_EXAMPLE),
    ),
    LOW_BALANCE: _DescribedEvent(
        summary="A wallet ran low",
        description=(
            "The SMS credits or the balance have fallen below the account's threshold. The event is"
            " sent once. It is sent again only after the figure was back at or above the threshold."
        ),
        schema="LowBalanceEvent",
        example=_around(LOW_BALANCE, 6, _LOW),
    ),
}


def _header(name: str, description: str, example: str, **schema: str) -> Json:
    return {
        "name": name,
        "in": "header",
        "required": True,
        "description": description,
        "schema": {"type": "string", **schema},
        "example": example,
    }


def _headers(kind: str, event_id: str) -> list[Json]:
    return [
        _header("X-Service-Event", "The event's kind, as in the body.", kind, const=kind),
        _header(
            "X-Service-Signature",
            "HMAC-SHA256 of the raw body in lower-case hexadecimal digits. The key is the"
            " endpoint's secret as it was shown, `whsec_` included.",
            "9f" * 32,
            pattern="^[0-9a-f]{64}$",
        ),
        _header("webhook-id", "The event's id, as in the body (Standard Webhooks 1.0).", event_id),
        _header(
            "webhook-timestamp",
            "The time of this attempt, in Unix seconds.",
            str(EXAMPLE_MS // 1_000),
            pattern="^[0-9]+$",
        ),
        _header(
            "webhook-signature",
            "`v1,` and the Base64 of the HMAC-SHA256 of `webhook-id.webhook-timestamp.body`. The"
            " key is the part of the secret after `whsec_`, decoded from Base64. While a secret is"
            " being changed there are two signatures, with a space between them.",
            "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
        ),
    ]


def _webhook(kind: str) -> Json:
    told = _TOLD[kind]
    return {
        "post": {
            "tags": [TAG],
            "operationId": f"webhook_{kind.replace('.', '_')}",
            "summary": told.summary,
            "description": told.description,
            "security": [],
            "parameters": _headers(kind, told.example["id"]),
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {"schema": ref(told.schema), "example": told.example}
                },
            },
            "responses": {
                "2XX": {
                    "description": (
                        "The event counts as received if the whole answer comes within 15 s. Any"
                        " other answer is a failure, a redirect too: the event is then sent again"
                        " after 1 min, 5 min, 30 min and 2 h."
                    )
                },
                "410": {"description": "Your endpoint wants no more events, and is disabled."},
            },
        }
    }


WEBHOOKS: Final[dict[str, Json]] = {kind: _webhook(kind) for kind in KINDS}
