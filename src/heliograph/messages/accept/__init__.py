"""Accepts sends: judges each request, then stores, charges and queues it in one transaction."""

from heliograph.messages.accept.acceptor import FACTS, Acceptor, load_tariff
from heliograph.messages.accept.batch import SendResult
from heliograph.messages.accept.chunk import (
    Chunk,
    Chunker,
    ChunkRecipient,
    ChunkRequest,
)
from heliograph.messages.accept.judge import SANDBOX_SENDER, AccountFacts, approved_sender
from heliograph.messages.accept.opted_out import answerable_texts
from heliograph.messages.accept.refusals import REJECTED_REPORTED_MAX
from heliograph.messages.accept.reply import Replier, Reply
from heliograph.messages.accept.request import (
    RECIPIENTS_PER_SEND_MAX,
    REFERENCE_MAX,
    TEXT_CHARACTERS_MAX,
    AnsweredText,
    SendRequest,
    answer_to,
    read_send_request,
)
from heliograph.messages.accept.response import (
    SendExceptions,
    read_exceptions,
    response_of_send,
)
from heliograph.messages.accept.route_in_words import route_in_words
from heliograph.messages.accept.route_lookup import look_up_route
from heliograph.messages.accept.tariff import Tariff
from heliograph.messages.accept.unapproved_sender import accept_or_explain

__all__ = [
    "FACTS",
    "RECIPIENTS_PER_SEND_MAX",
    "REFERENCE_MAX",
    "REJECTED_REPORTED_MAX",
    "SANDBOX_SENDER",
    "TEXT_CHARACTERS_MAX",
    "Acceptor",
    "AccountFacts",
    "AnsweredText",
    "Chunk",
    "ChunkRecipient",
    "ChunkRequest",
    "Chunker",
    "Replier",
    "Reply",
    "SendExceptions",
    "SendRequest",
    "SendResult",
    "Tariff",
    "accept_or_explain",
    "answer_to",
    "answerable_texts",
    "approved_sender",
    "load_tariff",
    "look_up_route",
    "read_exceptions",
    "read_send_request",
    "response_of_send",
    "route_in_words",
]
