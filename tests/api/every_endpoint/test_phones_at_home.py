"""A number with a single leading 0 and no country is read by the country of the account
that a request is about.
"""

import pytest

from heliograph.base import ids
from tests.support.api.cast import Actor
from tests.support.api.databases import ON_SQLITE
from tests.support.api.service import Service
from tests.support.factories import code_sent

pytestmark = ON_SQLITE

LOCAL = "0207777777"  # in Ghana, where amina is
THERE = "0712345678"  # in Kenya, where dede is


def wrong(code: str) -> str:
    return f"{(int(code) + 1) % 10**6:06d}"


@pytest.fixture
def dede(api: Service, amina: Actor) -> str:
    """Returns the id of amina's customer in Kenya, who may send from DEDE."""
    made = api.post(
        amina,
        "/connect/customers",
        {
            "full_name": "dede",
            "phone": THERE,
            "country_code": "KE",
            "external_ref": "dede",
            "initial_sms_credits": 10,
        },
    ).data
    sandbox = amina.key(sandbox=True)
    api.post(
        sandbox,
        "/connect/customers",
        {"full_name": "dede", "phone": THERE, "country_code": "KE", "external_ref": "dede"},
    )
    assert api.post(sandbox, "/sender-ids", {"sender": "DEDE", "customer_id": "dede"}).status == 200
    return str(made["id"])


def test_a_code_is_verified_by_the_phone_as_it_was_given(api: Service, amina: Actor) -> None:
    tester = amina.key(sandbox=True)
    for sent, verified in (
        ({"phone": LOCAL, "countryCode": "GH"}, LOCAL),
        ({"phone": LOCAL}, "+233207777777"),
        ({"phone": "020-777 7777"}, LOCAL),
    ):
        assert api.post(tester, "/otp/send", sent).data["phone"] == "233207777777", sent
        assert (
            api.post(tester, "/otp/verify", {"phone": verified, "code": "123456"}).data["phone"]
            == "233207777777"
        ), verified
    assert (
        api.post(amina, "/otp/verify", {"phone": LOCAL, "code": "000000"}).reason == "otp_not_found"
    )


# As each is dialled in its own country: with a trunk prefix of 0, none, 8, 06; with a 0 that
# belongs to the number. In Ghana, where amina is, the first is a number too, the third is an
# international one of nowhere.
DIALLED = [
    ("0207123456", "KE", "254207123456"),
    ("2015550123", "US", "12015550123"),
    ("89123456789", "RU", "79123456789"),
    ("06201234567", "HU", "36201234567"),
    ("0612345678", "IT", "390612345678"),
    ("07911 123-456", "GB", "447911123456"),
    ("207123456", "KE", "254207123456"),
]


@pytest.mark.judged_in_python
@pytest.mark.parametrize(("given", "country", "phone"), DIALLED)
@pytest.mark.parametrize("sandbox", [False, True])
def test_a_code_is_verified_by_the_phone_as_it_was_given_for_another_country(
    api: Service, amina: Actor, given: str, country: str, phone: str, sandbox: bool
) -> None:
    who = amina.key(sandbox=True) if sandbox else amina
    data = api.post(who, "/otp/send", {"phone": given, "countryCode": country}).data
    assert data["phone"] == phone
    code = "123456" if sandbox else code_sent(api.db, data["id"])
    if not sandbox:
        refused = api.post(who, "/otp/verify", {"phone": given, "code": wrong(code)})
        assert (refused.reason, refused.error["attempts_remaining"]) == ("otp_incorrect", 4), (
            "a wrong code counts for that phone"
        )
    verified = api.post(who, "/otp/verify", {"phone": given, "code": code}, key=data["id"])
    assert (verified.data["phone"], verified.data["id"]) == (phone, data["id"])
    again = api.post(who, "/otp/verify", {"phone": given, "code": code}, key=data["id"])
    assert (again.body, again.headers["idempotent-replayed"]) == (verified.body, "true")
    if not sandbox:
        assert (
            api.post(who, "/otp/verify", {"phone": given, "code": code}).reason == "otp_not_found"
        )


def test_of_two_phones_that_are_written_alike_none_is_guessed(api: Service, amina: Actor) -> None:
    sent = [
        api.post(amina, "/otp/send", {"phone": "0712345678", "countryCode": country}).data
        for country in ("KE", "UG")
    ]
    code = code_sent(api.db, sent[0]["id"])
    refused = api.post(amina, "/otp/verify", {"phone": "0712345678", "code": code})
    assert (refused.status, refused.reason) == (400, "otp_not_found")
    assert "countryCode" in refused.error["message"]
    assert "233712345678" in refused.error["message"]
    assert (
        api.post(
            amina, "/otp/verify", {"phone": "0712345678", "code": code, "countryCode": "KE"}
        ).status
        == 200
    )
    assert (
        api.post(
            amina, "/otp/verify", {"phone": "0712345678", "code": code_sent(api.db, sent[1]["id"])}
        ).data["phone"]
        == "256712345678"
    )


def test_another_accounts_code_and_another_modes_is_not_found(
    api: Service, amina: Actor, chidi: Actor
) -> None:
    data = api.post(amina, "/otp/send", {"phone": "0207123456", "countryCode": "KE"}).data
    code = code_sent(api.db, data["id"])
    for who in (chidi, amina.key(sandbox=True)):
        assert api.post(who, "/otp/verify", {"phone": "207123456", "code": code}).status == 400
    assert api.post(amina, "/otp/verify", {"phone": "207123456", "code": code}).status == 200


def test_what_is_no_phone_anywhere_is_refused_as_such(api: Service, amina: Actor) -> None:
    for phone in ("0000", "1", "99999999999999", "+0207123456"):
        assert api.post(amina, "/otp/verify", {"phone": phone, "code": "000000"}).bad_fields == [
            "phone"
        ], phone
    assert api.post(amina, "/otp/verify", {"phone": "99999999999999"}).bad_fields == [
        "code",
        "phone",
    ]


def test_sends_contacts_and_filters_read_it_too(api: Service, amina: Actor) -> None:
    sent = api.send(amina, [LOCAL, "+233207777777", "00233207777777"])
    assert (sent["accepted"], sent["duplicates"], sent["rejected"]) == (1, 2, [])
    assert api.get(amina, "/reports", recipient=LOCAL).ids == [sent["message_id"]]
    made = api.post(amina, "/contacts", {"phone": LOCAL}).data
    assert (
        made["phone"],
        api.put(amina, f"/contacts/{made['id']}", {"phone": "0201234567"}).data["phone"],
    ) == ("233207777777", "233201234567")


def test_for_a_customer_it_is_the_customers_country(api: Service, amina: Actor, dede: str) -> None:
    tester = amina.key(sandbox=True)
    sent = api.send(tester, [THERE], sender="DEDE", customer_id="dede")
    assert sent["accepted"] == 1
    assert (
        api.send(tester, ["254712345678", *[THERE] * 2_000], sender="DEDE", customer_id="dede")[
            "accepted"
        ]
        == 1
    ), "a body that a thread reads"
    assert api.get(
        tester, "/reports", recipient=THERE, customer_id="dede", send_id=sent["send_id"]
    ).ids == [sent["message_id"]]
    assert (
        api.post(
            tester, "/otp/verify", {"phone": THERE, "code": "123456", "customer_id": "dede"}
        ).data["phone"]
        == "254712345678"
    )
    assert (
        api.post(amina, "/contacts", {"phone": THERE, "customer_id": dede}).data["phone"]
        == "254712345678"
    )
    assert api.post(amina, "/contacts", {"phone": THERE}).data["phone"] == "233712345678"


def test_of_a_customer_that_there_is_not_what_is_wrong_is_told_first(
    api: Service, amina: Actor
) -> None:
    for path, body in (("/otp/send", {}), ("/contacts", {}), ("/otp/verify", {"code": "123456"})):
        assert api.post(
            amina, path, {**body, "phone": "0123", "customer_id": ids.new("cus")}
        ).bad_fields == ["phone"], path
        assert (
            api.post(amina, path, {**body, "phone": LOCAL, "customer_id": ids.new("cus")}).reason
            == "no_such_record"
        ), path
