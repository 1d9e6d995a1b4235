"""Refusals of the rooms below the portal are said in French, too: in a file, a form, an address."""

from collections.abc import Iterator
from io import BytesIO, StringIO

import pytest

from heliograph.accounts import quotas
from heliograph.accounts.quotas import StoredKind
from heliograph.base.csv.reader import text_of
from heliograph.base.errors import InvalidRequest, ServiceError
from heliograph.campaigns import read_preview_request
from heliograph.contacts.csv_file import BadContactRow, Sheet
from heliograph.database.database import Database
from heliograph.portal import languages
from heliograph.portal.languages import refusals
from heliograph.senders.reserved_names import refuse_reserved
from heliograph.webhooks.http.address_guard import CLOSED, check_url


@pytest.fixture(autouse=True)
def _in_french() -> Iterator[None]:
    languages.use_language("fr")
    yield
    languages.use_language(languages.USUAL)


def is_english(words: object) -> bool:
    return 'lang="en"' in str(refusals.translated_refusal(words))


@pytest.mark.parametrize("sheet", ['phone\n"233201234567\n', 'phone\n"' + "x\n" * 40_000 + '"\n'])
def test_what_is_wrong_with_a_quoted_cell(sheet: str) -> None:
    with pytest.raises(InvalidRequest) as wrong:
        list(Sheet(text_of(BytesIO(sheet.encode())), None, "GH", {}).rows())
    assert not is_english(wrong.value)
    assert "quote" not in str(refusals.translated_refusal(wrong.value))


def test_a_campaign_for_no_tag() -> None:
    with pytest.raises(InvalidRequest) as wrong:
        read_preview_request({"message": "Hello", "audience": "tags"})
    assert [is_english(each.message) for each in wrong.value.fields] == [False]


@pytest.mark.parametrize("host", ["10.0.0.1", "127.0.0.1", "169.254.169.254", "100.64.0.1"])
def test_why_a_webhook_may_not_go_to_an_address(host: str) -> None:
    with pytest.raises(InvalidRequest) as wrong:
        check_url(f"https://{host}/", CLOSED)
    [field] = wrong.value.fields
    english = field.message.rpartition(" is ")[2]
    assert english not in str(refusals.translated_refusal(field.message))


@pytest.mark.parametrize("of_partner", [False, True])
def test_why_a_file_is_stored_no_further(of_partner: bool) -> None:
    why: ServiceError | None = quotas.refusal_of(
        StoredKind.CONTACTS, 5, 2, 6, 0, of_partner=of_partner
    )
    assert why is not None
    assert not is_english(str(why))


@pytest.mark.parametrize(
    ("sender", "french"),
    [
        ("SANDB0X", "l’expéditeur des messages du bac à sable"),
        ("Heliograph", "l’expéditeur des mots de passe à usage unique du service lui-même"),
        ("112", "un numéro d’urgence"),
    ],
)
def test_why_a_sender_is_reserved(db: Database, sender: str, french: str) -> None:
    with pytest.raises(InvalidRequest) as wrong, db.read() as tx:
        refuse_reserved(tx, sender, "heliograph")
    [field] = wrong.value.fields
    assert refusals.translated_refusal(field.message) == (
        f"doit être un autre\u00a0: '{sender}' est réservé, car c’est ou semble être {french}"
    )


@pytest.mark.parametrize(
    ("row", "french"),
    [
        ('233201234560,"Kofi" K', "une cellule continue derrière son guillemet de fin"),
        ("233201234560,Kofi\rK", "un retour chariot se trouve dans une cellule sans guillemets"),
    ],
)
def test_why_a_line_of_a_file_is_no_csv(row: str, french: str) -> None:
    [bad] = Sheet(StringIO(f"phone,name\n{row}\n", newline="\n"), None, "GH", {}).rows()
    assert isinstance(bad, BadContactRow)
    assert str(refusals.translated_refusal(bad.why)).startswith(f"n’est pas du CSV\u00a0: {french}")
    with pytest.raises(InvalidRequest) as wrong:
        Sheet(StringIO(f"{row}\n", newline="\n"), None, "GH", {})
    assert str(refusals.translated_refusal(wrong.value)).startswith(
        f"La ligne 1 n’est pas du CSV\u00a0: {french}"
    )
