"""Says in words what a keyword does."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.base.short_texts import shorten
from heliograph.console.named_account import OwnerOfRow, owners_of_rows
from heliograph.inbound.keywords import Keyword, KeywordAction, keyword_text_id

REPLY_SHOWN_MAX: Final = 80  # characters, in the log
ACTIONS: Final = {
    KeywordAction.NONE: "is answered, and nothing else",
    KeywordAction.OPT_OUT: "opts the phone out",
    KeywordAction.OPT_IN: "opts the phone in again",
    KeywordAction.HELP: "asks for help",
}


class ListedKeyword(NamedTuple):
    """Holds a keyword, and names the account that has it."""

    keyword: Keyword
    text_id: str
    owner: OwnerOfRow

    @property
    def does(self) -> str:
        """Returns what it does."""
        return ACTIONS[KeywordAction(self.keyword.action)]


def listed_keywords(tx: Connection, found: Sequence[Keyword]) -> list[ListedKeyword]:
    """Returns the keywords with the names of their accounts, in the same order."""
    owners = owners_of_rows(tx, {each.account_id for each in found})
    return [ListedKeyword(each, keyword_text_id(each), owners[each.account_id]) for each in found]


def in_words(keyword: Keyword) -> str:
    """Returns all of it in one sentence, as the log holds it."""
    where = f"on {keyword.digits}" if keyword.digits else "on all numbers of the account"
    answer = (
        "the built-in one" if keyword.reply is None else shorten(keyword.reply, REPLY_SHOWN_MAX)
    )
    language = f" in {keyword.language}" if keyword.language else ""
    mode = "sandbox" if keyword.sandbox else "live"
    return (
        f"{mode}: {keyword.keyword} {where} {ACTIONS[KeywordAction(keyword.action)]}; answer"
        f"{language}: {answer}"
    )
