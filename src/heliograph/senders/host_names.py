"""Finds hosts whose names look like a sender of another account, or like a name that the operator
has reserved.
"""

from collections import defaultdict
from collections.abc import Collection
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.senders.look_alikes import LOOK_ALIKES_MAX, skeleton
from heliograph.senders.states import APPROVED
from heliograph.senders.tables import reserved_senders, senders
from heliograph.text.links import LABEL_LETTERS_MIN, names_in

NAMES_COMPARED_MAX: Final = 2_000  # of all hosts together: each is a parameter of a query


class LikeName(NamedTuple):
    """Holds a name that a host looks like, and the account (raw) whose sender it is, or None if the
    operator has reserved it.
    """

    name: str
    account_id: str | None


def like_hosts(
    tx: Connection, hosts: Collection[tuple[str, str]]
) -> dict[tuple[str, str], list[LikeName]]:
    """Returns, for accounts (raw ids) and the hosts that they link to, the first few names that a
    host looks like. An account may link to what looks like a sender of its own.
    """
    skeletons = {host: _skeletons(host) for _, host in hosts}
    wanted = sorted({each for of_host in skeletons.values() for each in of_host})
    known = _known(tx, wanted[:NAMES_COMPARED_MAX])
    found = {}
    for account_id, host in hosts:
        like = [
            name
            for each in sorted(skeletons[host])
            if all(name.account_id != account_id for name in known.get(each, ()))
            for name in known.get(each, ())
        ]
        if like:
            found[account_id, host] = like[:LOOK_ALIKES_MAX]
    return found


def _skeletons(host: str) -> set[str]:
    found = {skeleton(name) for name in names_in(host)}
    return {each for each in found if len(each) >= LABEL_LETTERS_MIN and not each.isdigit()}


def _known(tx: Connection, skeletons: list[str]) -> dict[str, list[LikeName]]:
    """Returns the approved live senders and the reserved names with these skeletons."""
    found: dict[str, list[LikeName]] = defaultdict(list)
    approved = sa.select(senders.c.skeleton, senders.c.sender, senders.c.account_id).where(
        senders.c.skeleton.in_(skeletons),
        senders.c.sandbox.is_(False),
        senders.c.status == APPROVED,
    )
    for sender in tx.execute(approved.order_by(senders.c.id)):
        found[sender.skeleton].append(LikeName(sender.sender, sender.account_id))
    columns = reserved_senders.c
    reserved = sa.select(columns.skeleton, columns.sender).where(columns.skeleton.in_(skeletons))
    for row in tx.execute(reserved):
        found[row.skeleton].append(LikeName(row.sender, None))
    return found
