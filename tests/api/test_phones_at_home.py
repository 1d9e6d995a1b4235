"""A number with a single leading 0 and no country is read by the country of the account that a request is about."""

import pytest

from heliograph.base import ids
from tests.api.cast import Actor
from tests.api.service import Service

LOCAL = "0207777777"  # in Ghana, where amina is
THERE = "0712345678"  # in Kenya, where dede is


@pytest.fixture
def dede(api: Service, amina: Actor) -> str:
    """The id of amina's customer in Kenya, who may send from DEDE."""
    made = api.post(amina, "/connect/customers", {"full_name": "dede", "phone": THERE, "country_code": "KE", "external_ref": "dede",
                                                  "initial_sms_credits": 10}).data
    sandbox = amina.key(sandbox=True)
    api.post(sandbox, "/connect/customers", {"full_name": "dede", "phone": THERE, "country_code": "KE", "external_ref": "dede"})
    assert api.post(sandbox, "/sender-ids", {"sender": "DEDE", "customer_id": "dede"}).status == 200
    return str(made["id"])


def test_a_code_is_verified_by_the_phone_as_it_was_given(api: Service, amina: Actor) -> None:
    tester = amina.key(sandbox=True)
    for sent, verified in (({"phone": LOCAL, "countryCode": "GH"}, LOCAL), ({"phone": LOCAL}, "+233207777777"), ({"phone": "020-777 7777"}, LOCAL)):
        assert api.post(tester, "/otp/send", sent).data["phone"] == "233207777777", sent
        assert api.post(tester, "/otp/verify", {"phone": verified, "code": "123456"}).data["phone"] == "233207777777", verified
    assert api.post(amina, "/otp/verify", {"phone": LOCAL, "code": "000000"}).reason == "otp_not_found"


def test_sends_contacts_and_filters_read_it_too(api: Service, amina: Actor) -> None:
    sent = api.send(amina, [LOCAL, "+233207777777", "00233207777777"])
    assert (sent["accepted"], sent["duplicates"], sent["rejected"]) == (1, 2, [])
    assert api.get(amina, "/reports", recipient=LOCAL).ids == [sent["message_id"]]
    made = api.post(amina, "/contacts", {"phone": LOCAL}).data
    assert (made["phone"], api.put(amina, f"/contacts/{made['id']}", {"phone": "0201234567"}).data["phone"]) == ("233207777777", "233201234567")


def test_for_a_customer_it_is_the_customers_country(api: Service, amina: Actor, dede: str) -> None:
    tester = amina.key(sandbox=True)
    sent = api.send(tester, [THERE], sender="DEDE", customer_id="dede")
    assert sent["accepted"] == 1
    assert api.send(tester, ["254712345678", *[THERE] * 2_000], sender="DEDE", customer_id="dede")["accepted"] == 1, "a body that a thread reads"
    assert api.get(tester, "/reports", recipient=THERE, customer_id="dede", send_id=sent["send_id"]).ids == [sent["message_id"]]
    assert api.post(tester, "/otp/verify", {"phone": THERE, "code": "123456", "customer_id": "dede"}).data["phone"] == "254712345678"
    assert api.post(amina, "/contacts", {"phone": THERE, "customer_id": dede}).data["phone"] == "254712345678"
    assert api.post(amina, "/contacts", {"phone": THERE}).data["phone"] == "233712345678"


def test_of_a_customer_that_there_is_not_what_is_wrong_is_told_first(api: Service, amina: Actor) -> None:
    for path, body in (("/otp/send", {}), ("/contacts", {}), ("/otp/verify", {"code": "123456"})):
        assert api.post(amina, path, {**body, "phone": "0123", "customer_id": ids.new("cus")}).bad_fields == ["phone"], path
        assert api.post(amina, path, {**body, "phone": LOCAL, "customer_id": ids.new("cus")}).reason == "no_such_record", path
