"""The number of accepted sign-ups depends on where they come from."""

from collections.abc import Callable

import pytest

from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.users import password_tries
from heliograph.users import password_tries as limits
from heliograph.users.password_tries import Guesser

Ask = Callable[[str], bool]


@pytest.fixture
def ask(db: Database, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Asks for an account from an address, and returns whether that is taken. The limits are small
    here.
    """
    monkeypatch.setattr(limits, "SIGN_UPS_OF_ADDRESS_MAX", 2)
    monkeypatch.setattr(limits, "SIGN_UPS_OF_NETWORK_MAX", 4)
    monkeypatch.setattr(limits, "SIGN_UPS_MAX", 10)
    number = iter(range(10_000))

    def ask(address: str) -> bool:
        guesser = Guesser(f"esi{next(number)}@example.com", address, "")
        try:
            with db.write() as tx:
                password_tries.count_sign_up(tx, guesser, now_ms=clock.now_ms())
        except limits.TooManyMails:
            return False
        return True

    return ask


@pytest.mark.parametrize(
    ("network", "outside"),
    [("192.0.2.{}", "192.0.3.1"), ("2001:db8:0:{}::1", "2001:db8:1::1")],
)
def test_a_network_that_asks_for_too_much_is_refused_and_nobody_else(
    at_noon: None, ask: Ask, network: str, outside: str
) -> None:
    taken = [ask(network.format(number)) for number in range(1, 60)]
    assert taken == [True] * 4 + [False] * 55
    assert ask(outside)
    clock.move(clock.HOUR_MS)
    assert ask(network.format(1))


def test_an_address_and_all_together_have_limits_too(at_noon: None, ask: Ask) -> None:
    assert [ask("198.51.100.7") for _ in range(3)] == [True, True, False]
    others = [ask(f"10.0.{number}.1") for number in range(20)]
    assert others == [True] * 8 + [False] * 12
    clock.move(clock.HOUR_MS)
    assert ask("10.0.19.1")


def test_the_ceiling_of_all_is_reached_by_ten_networks_and_not_by_one() -> None:
    assert 10 * limits.SIGN_UPS_OF_NETWORK_MAX <= limits.SIGN_UPS_MAX
