"""Finds which recipients of a batch have opted out, without a query where nobody has.

Whether an account has any opt-outs at all is read with its wallet. Of accounts that had some in an
earlier batch, the recipients are asked about in that same statement. So there is a query of its own
only where somebody has opted out, or for an account whose first opt-out is new.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from sqlalchemy.engine import Connection

from heliograph.database.hot import HotTx, run_in
from heliograph.messages.accept import read_sql
from heliograph.messages.accept.read_sql import AskedRecipient, HelpAsked, LockedWallet
from heliograph.messages.accept.request import AnsweredText, SendRequest
from heliograph.opt_outs import WHOLE_ACCOUNT, OptOutOwner, scope_of_sender

ACCOUNTS_MAX: Final = 20_000  # that are remembered; past it the memory begins anew
# texts that answer one that asks for help and reach who has opted out: that of the keyword, and one
# more
HELP_ANSWERS_MAX: Final = 2

# the senders, in lower case, whose texts each number does not want; an empty one stands for all
_Unwanted: TypeAlias = dict[OptOutOwner, dict[int, set[str]]]


class OptedOut(NamedTuple):
    """Holds opt-outs, and which sends (by number) pass them, because they answer somebody who has
    asked for help.
    """

    unwanted: _Unwanted
    helping: frozenset[int] = frozenset()


NOBODY: Final = OptedOut({})
_NONE: Final = frozenset[int]()


class OptOutLookups:
    """Looks for opt-outs on behalf of one process, and remembers which accounts have any."""

    def __init__(self) -> None:
        self._with_any: set[str] = set()

    def to_ask(self, requests: Iterable[SendRequest]) -> list[AskedRecipient]:
        """Returns the recipients of those accounts that are known to have opt-outs."""
        if not self._with_any:
            return []
        return [
            AskedRecipient(request.account_id, request.sandbox, int(phone.digits))
            for request in requests
            if request.account_id in self._with_any and not request.passes_opt_outs
            for phone in request.phones
            if phone is not None
        ]

    async def find(
        self,
        tx: HotTx,
        requests: Sequence[SendRequest],
        locked: Sequence[LockedWallet],
        asked: list[AskedRecipient],
        *,
        may_be_any: bool,
    ) -> OptedOut:
        """Returns who has opted out. `asked` are the recipients that were looked up when the
        wallets were locked, and `may_be_any` says whether any of them may have opted out.
        """
        having = {wallet.account_id for wallet in locked if wallet.has_opt_outs}
        if not having <= self._with_any:
            if len(self._with_any) > ACCOUNTS_MAX:
                self._with_any.clear()
            self._with_any |= having
            asked, may_be_any = self.to_ask(requests), True
        self._with_any -= {wallet.account_id for wallet in locked} - having
        out: _Unwanted = {}
        for row in await read_sql.opt_outs(tx, asked) if may_be_any else ():
            numbers = out.setdefault(OptOutOwner(row.account_id, row.sandbox), {})
            numbers.setdefault(row.phone, set()).add(row.sender)
        helps = [each for each in requests if each.answers_help]
        helping = await _allowed_answers(tx, helps) if helps else frozenset[int]()
        for each in helps:
            each.outlives_opt_outs = each.number in helping
        return OptedOut(out, helping) if out else NOBODY


def answerable_texts(
    tx: Connection, account_id: str, texts: Sequence[AnsweredText]
) -> list[AnsweredText]:
    """Returns which of these texts may be answered once more. By each of them, a phone has asked an
    account (raw id) for help. An answer to such a text passes an opt-out.
    """
    asked = [
        HelpAsked(account_id, int(text.helped), text.id)
        for text in texts
        if text.helped is not None
    ]
    rows = run_in(tx, lambda hot: read_sql.help_answers(hot, asked))
    answers = {row.inbound_id: row.answers for row in rows}
    return [text for text in texts if answers.get(text.id, 0) < HELP_ANSWERS_MAX]


async def _allowed_answers(tx: HotTx, answers: Sequence[SendRequest]) -> frozenset[int]:
    """Returns which of these sends, which all answer requests for help, are within the number of
    answers that is allowed.
    """
    asked = {
        HelpAsked(each.account_id, int(phone.digits), each.answers_id or "")
        for each in answers
        for phone in each.phones
        if phone is not None
    }
    sent = Counter(
        {each.inbound_id: each.answers for each in await read_sql.help_answers(tx, sorted(asked))}
    )
    helping = set()
    for each in answers:
        sent[each.answers_id or ""] += 1
        if sent[each.answers_id or ""] <= HELP_ANSWERS_MAX:
            helping.add(each.number)
    return frozenset(helping)


def phones_opted_out(request: SendRequest, out: OptedOut) -> frozenset[int]:
    """Returns the numbers that want nothing of the request's sender."""
    if not out.unwanted:  # as good as always
        return _NONE
    numbers = out.unwanted.get(OptOutOwner(request.account_id, request.sandbox))
    if not numbers or request.passes_opt_outs or request.number in out.helping:
        return _NONE
    senders = {WHOLE_ACCOUNT.sender, scope_of_sender(request.sender).sender}
    return frozenset(number for number, of in numbers.items() if of & senders)
