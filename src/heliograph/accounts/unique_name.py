"""Commands take an account by its name, as long as no other one has it."""

from sqlalchemy.engine import Connection

from heliograph.accounts import account_fields
from heliograph.accounts.account import Account, text_id, with_name
from heliograph.base.errors import FieldError, InvalidRequest


class NameTaken(InvalidRequest):
    """Another account has this name."""

    def __init__(self, namesake: Account) -> None:
        self.namesake = namesake
        message = (
            f"is that of another account, {text_id(namesake)}. Allow the same name to have both;"
            " commands then need an id instead of the name"
        )
        super().__init__(f"name {message}.", fields=[FieldError("name", message)])


def require_unique_name(tx: Connection, name: str, *, besides: str | None = None) -> None:
    """Raises NameTaken when another account than `besides` (raw id) has this name, and
    InvalidRequest for a name that no account can have.
    """
    for account in with_name(tx, account_fields.read_name("name", name)):
        if account.id != besides:
            raise NameTaken(account)
