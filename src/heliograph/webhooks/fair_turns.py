"""All who wait for the same thing get it one account after another, so that an account with
plenty to do delays nobody else.
"""

from typing import Generic, Protocol, TypeVar


class HasAccount(Protocol):
    """Describes an endpoint at work, whose account is known."""

    @property
    def account_id(self) -> str: ...


T = TypeVar("T", bound=HasAccount)


class Turns(Generic[T]):
    """Gives turns to those who wait. An account that has had its turn goes behind all others, and
    so does an endpoint behind its account's others.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, dict[T, None]] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, one: T) -> None:
        """Adds an endpoint to those that wait. One that waits already keeps its place."""
        self._waiting.setdefault(one.account_id, {})[one] = None

    def next(self) -> T:
        """Returns the endpoint whose turn it is, which then waits no longer. There must be one that
        waits.
        """
        account_id = next(iter(self._waiting))
        of_account = self._waiting.pop(account_id)
        one = next(iter(of_account))
        del of_account[one]
        if of_account:
            self._waiting[account_id] = of_account
        return one
