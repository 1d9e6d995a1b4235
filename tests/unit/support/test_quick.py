"""`make quick` chooses the tests that a change can break."""

from tests.quick import ENDPOINT_TESTS, choose
from tests.support.sources import ROOT


def test_a_changed_module_is_tested_by_its_room_and_by_who_imports_it() -> None:
    chosen = choose(["src/heliograph/webhooks/sign.py"])
    assert (
        chosen["tests/unit/webhooks/test_webhooks_sign.py"] == "it imports heliograph.webhooks.sign"
    )
    assert "tests/capability/webhooks/test_webhooks_deliver.py" in chosen
    assert "tests/architecture/test_front_doors.py" in chosen
    assert "tests/unit/text/test_text_phone.py" not in chosen
    assert not [path for path in chosen if path.startswith(("tests/crash", "tests/faults"))]


def test_a_changed_helper_is_tested_by_who_imports_it_and_a_changed_test_by_itself() -> None:
    chosen = choose(["tests/support/plain_http.py", "tests/unit/base/test_ids.py", "tests/gone.py"])
    assert next(iter(chosen)) == "tests/unit/base/test_ids.py"
    assert chosen["tests/api/http/test_crowds.py"] == "it imports tests.support.plain_http"


def test_a_changed_template_is_tested_by_its_room() -> None:
    chosen = choose(["src/heliograph/portal/templates/messages.html"])
    why = "it is about the room portal"
    assert chosen["tests/capability/portal/test_overview.py"] == why
    assert "tests/capability/webhooks/test_webhooks_deliver.py" not in chosen


def test_of_a_room_with_folders_those_beside_the_changed_one_are_left_out() -> None:
    chosen = choose(["src/heliograph/messages/accept/judge.py"])
    why = "it is about the room messages/accept"
    assert chosen["tests/capability/messages/accept/test_accept_faults.py"] == why
    assert "tests/capability/messages/doubt/test_decide.py" not in chosen
    beside = choose(["src/heliograph/portal/visit.py"])
    assert beside["tests/capability/portal/test_overview.py"] == "it is about the room portal"
    assert "tests/capability/portal/wallet_pages/test_money.py" not in beside
    assert "tests/capability/portal/test_every_route.py" not in beside


def test_a_changed_conftest_is_tested_by_who_takes_its_fixtures() -> None:
    chosen = choose(["tests/capability/conftest.py"])
    why = "it takes fixtures of tests/capability/conftest.py"
    assert chosen["tests/capability/webhooks/test_webhooks_deliver.py"] == why
    assert "tests/unit/base/test_ids.py" not in chosen


def test_without_changes_the_architecture_is_looked_at_without_its_documents() -> None:
    chosen = choose([])
    assert set(chosen.values()) == {"always"}
    assert "tests/architecture/documents/test_documents.py" not in chosen
    assert "tests/architecture/test_package.py" not in chosen


def test_a_changed_endpoint_is_asked_as_from_outside() -> None:
    chosen = choose(["src/heliograph/wallet/api.py"])
    why = "it sends requests to the endpoints"
    assert chosen["tests/api/wallet/test_balance.py"] == why
    assert "tests/api/contacts/test_contacts.py" not in chosen
    assert "tests/api/wallet/test_balance.py" not in choose(["src/heliograph/wallet/ledger.py"])


def test_every_room_with_endpoints_names_tests_that_there_are() -> None:
    package, tests = ROOT / "src" / "heliograph", ROOT / "tests" / "api"
    rooms = {path.relative_to(package).parts[0] for path in package.rglob("api.py")} - {"cli"}
    assert ENDPOINT_TESTS.keys() == rooms
    assert not [
        each for of in ENDPOINT_TESTS.values() for each in of if not (tests / each).exists()
    ]


def test_a_property_is_chosen_by_the_module_that_it_is_of() -> None:
    judges = "src/heliograph/messages/carrier/settle.py"
    assert "tests/property/test_settle_property.py" in choose([judges])
    assert not [path for path in choose([judges]) if path.startswith("tests/property/machines/")]
