"""Describes opt-outs: whose they are, which texts they hold for, and how they are shown."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.opt_outs.tables import OptOutSource, suppressions

OPT_OUT_PREFIX: Final = "sup"


class OptOutOwner(NamedTuple):
    """Says whose opt-outs are meant, and of which mode. None is read without both. `account_id` is
    raw.
    """

    account_id: str
    sandbox: bool


def of_owner(owner: OptOutOwner) -> sa.ColumnElement[bool]:
    """Returns the condition that selects the owner's opt-outs."""
    columns = suppressions.c
    return (columns.account_id == owner.account_id) & columns.sandbox.is_(owner.sandbox)


class OptOutScope(NamedTuple):
    """Says which texts an opt-out holds for: those of one sender, or all of the account where
    `sender` is empty. `sender` is in lower case.
    """

    sender: str


WHOLE_ACCOUNT: Final = OptOutScope("")


def scope_of_sender(sender: str) -> OptOutScope:
    """Returns the scope of one sender, however it is written."""
    return OptOutScope(fold_sender(sender))


def fold_sender(sender: str) -> str:
    """Returns a sender as opt-outs know it: without case, and digits without a plus."""
    folded = sender.strip().lower()
    return folded[1:] if folded[:1] == "+" and folded[1:].isdigit() else folded


# Cancels what is queued for a phone (E.164 digits) in a scope, at a moment: what is queued is known
# to rooms above this one.
Withdraw: TypeAlias = Callable[[Connection, OptOutOwner, str, OptOutScope, int], None]


class Suppression(NamedTuple):
    """Holds an opt-out. `id` is raw, and says when it was made. `phone` is E.164 digits."""

    id: str
    phone: str
    scope: OptOutScope
    source: OptOutSource

    @property
    def made_at_ms(self) -> int:
        return ids.made_at_ms(int(self.id, 16))


def as_suppression_record(found: Suppression, *, sandbox: bool) -> dict[str, Any]:
    """Returns an opt-out as its account sees it."""
    return {
        "phone": found.phone,
        "sender": found.scope.sender or None,
        "source": found.source.value,
        "sandbox": sandbox,
        "created_at": rfc3339(found.made_at_ms),
    }
