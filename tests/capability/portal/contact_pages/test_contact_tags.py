"""A tag is added to many contacts, or removed: a page says first how many it will change."""

import re
from threading import Thread

import pytest

from heliograph import contacts
from heliograph.contacts import ContactOwner, ContactPatch, tag_many
from heliograph.contacts.fields import TAGS_MAX
from heliograph.contacts.tag_many import ChosenContacts, TagChange, TagCount
from heliograph.database.database import Database
from heliograph.users import Role
from tests.support.capability.campaigns import add_contacts
from tests.support.factories import open_account, phones
from tests.support.portal.campaign_pages import words_of
from tests.support.portal.stored_contacts import stored, those_of
from tests.support.portal.visitor import EMAIL, Visitor, home_of


def tags_by_name(db: Database, account_id: str) -> dict[str | None, tuple[str, ...]]:
    return {contact.name: contact.tags for contact in those_of(db, account_id)}


def hidden_in(page: str) -> dict[str, str]:
    """Returns what the form that changes the tags says."""
    form = page.partition('<form class="actions" method="post"')[2].partition("</form>")[0]
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))


def test_all_that_a_search_finds_are_tagged_and_the_page_says_how_many_before(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    stored(db, amina_id, phone="233201234501", name="Ama Accra", tags=["new"])
    stored(db, amina_id, phone="233201234502", name="Kofi Accra", tags=["gold"])
    stored(
        db, amina_id, phone="233201234503", name="Full Accra", tags=list(map(str, range(TAGS_MAX)))
    )
    stored(db, amina_id, phone="233201234504", name="Efua Tema")
    asked = visitor.get(f"{home}/contacts/tags?mode=live&q=accra&all=yes&tag=gold&way=add").text
    words = words_of(asked)
    assert "Add gold to 1 contact?" in words
    assert "1 of 3 has it already. 1 cannot have one more tag" in words
    assert tags_by_name(db, amina_id)["Ama Accra"] == ("new",)
    done = visitor.post(f"{home}/contacts/tags", hidden_in(asked))
    assert "Added gold to 1 contact" in words_of(done.text)
    tags = tags_by_name(db, amina_id)
    assert (tags["Ama Accra"], tags["Kofi Accra"]) == (("new", "gold"), ("gold",))
    assert (len(tags["Full Accra"]), tags["Efua Tema"]) == (TAGS_MAX, ())
    # a search finds it by its new tag, which the removing takes away while it goes on
    asked = visitor.get(f"{home}/contacts/tags?q=gold&all=yes&tag=gold&way=remove").text
    assert "Remove gold from 2 contacts?" in words_of(asked)
    visitor.post(f"{home}/contacts/tags", hidden_in(asked))
    assert not [tags for tags in tags_by_name(db, amina_id).values() if "gold" in tags]
    assert (
        "Nothing would change"
        in visitor.get(f"{home}/contacts/tags?all=yes&tag=gold&way=remove").text
    )


def test_those_who_were_selected_are_tagged_and_nobody_elses(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    kofi = stored(db, amina_id, phone="233201234501", name="Kofi")
    stored(db, amina_id, phone="233201234502", name="Ama")
    chidi = open_account(db, "chidi")
    chidis = stored(db, chidi, phone="233201234503", name="Obi")
    picks = "&".join(f"pick={contacts.text_id(each)}" for each in (kofi, chidis))
    asked = visitor.get(f"{home}/contacts/tags?{picks}&tag=gold&way=add").text
    assert "Add gold to 1 contact?" in words_of(asked)
    visitor.post(f"{home}/contacts/tags", hidden_in(asked))
    assert tags_by_name(db, amina_id) == {"Kofi": ("gold",), "Ama": ()}
    assert tags_by_name(db, chidi) == {"Obi": ()}


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("tag=gold", "must be one at least: select contacts in the list"),
        ("all=yes&tag=a|b", "must have no |"),
        ("all=yes&tag=gold&way=up", "must be one of add, remove"),
        ("all=yes&mode=test&tag=gold", "must be one of live, sandbox"),
        ("&".join(f"pick={k}" for k in range(51)), "must be at most 50 contacts"),
    ],
    ids=str,
)
def test_what_is_no_choice_is_refused(visitor: Visitor, home: str, query: str, says: str) -> None:
    page = visitor.get(f"{home}/contacts/tags?{query}")
    assert page.status_code == 400
    assert says in words_of(page.text)


def test_a_search_that_finds_too_many_changes_nothing(
    visitor: Visitor, db: Database, amina_id: str, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_contacts(db, amina_id, phones(5))
    monkeypatch.setattr(tag_many, "FOUND_MAX", 4)
    visitor.get(f"{home}/contacts")
    fields = {"all": "yes", "tag": "gold", "way": "add"}
    for page in (
        visitor.get(f"{home}/contacts/tags?all=yes&tag=gold&way=add"),
        visitor.post(f"{home}/contacts/tags", fields),
    ):
        assert page.status_code == 400
        assert "more than 4 contacts, too many to tag at once" in page.text
    assert {contact.tags for contact in those_of(db, amina_id)} == {()}


def test_many_are_changed_in_steps_of_which_each_is_one_transaction(
    db: Database, amina_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_contacts(db, amina_id, phones(5))
    monkeypatch.setattr(tag_many, "AT_ONCE_MAX", 2)
    chosen = ChosenContacts(ContactOwner(amina_id, False))
    steps = tag_many.apply(db, chosen, TagChange("gold", is_added=True), now_ms=1)
    assert next(steps).changing == 2
    assert sum(bool(contact.tags) for contact in those_of(db, amina_id)) == 2, "it is committed"
    assert [step.changing for step in steps] == [2, 1]
    assert {contact.tags for contact in those_of(db, amina_id)} == {("gold",)}


@pytest.mark.parametrize("needle", [None, "accra"])
@pytest.mark.parametrize("is_added", [True, False], ids=["added", "removed"])
def test_as_many_change_as_were_counted(
    db: Database,
    amina_id: str,
    monkeypatch: pytest.MonkeyPatch,
    needle: str | None,
    *,
    is_added: bool,
) -> None:
    monkeypatch.setattr(tag_many, "AT_ONCE_MAX", 3)
    full = list(map(str, range(TAGS_MAX)))
    tags_of_some = [[], ["gold"], ["new"], ["new", "gold"], full, [*full[1:], "gold"]]
    for place, phone in enumerate(phones(24)):
        name = "Accra" if place % 3 else "Tema"
        stored(db, amina_id, phone=phone, name=name, tags=tags_of_some[place % 6])
        stored(db, amina_id, phone=phone, name=name, sandbox=True)
    stored(db, open_account(db, "chidi"), name="Accra", tags=["gold"])
    chosen = ChosenContacts(ContactOwner(amina_id, False), needle)
    change = TagChange("gold", is_added=is_added)
    counted = tag_many.count(db, chosen, change)
    assert counted.found == (24 if needle is None else 16)
    assert counted.full == (4 if is_added else 0)
    done = sum(tag_many.apply(db, chosen, change, now_ms=1), TagCount())
    assert done == counted
    assert tag_many.count(db, chosen, change).changing == 0


def test_what_a_program_changes_meanwhile_stays(db: Database, amina_id: str) -> None:
    contact_id = contacts.text_id(stored(db, amina_id, name="Kofi"))
    owner = ContactOwner(amina_id, False)
    change = TagChange("gold", is_added=True)
    tagging = Thread(
        target=lambda: list(tag_many.apply(db, ChosenContacts(owner), change, now_ms=2)),
        daemon=True,
    )
    with db.write() as tx:
        patch = ContactPatch(None, {"name": "Kofi Mensah"})
        contacts.update(tx, owner, contact_id, patch, by=contacts.OPERATOR, now_ms=1)
        tagging.start()
        tagging.join(0.5)  # it waits for this transaction
    tagging.join()
    assert tags_by_name(db, amina_id) == {"Kofi Mensah": ("gold",)}


def test_viewers_select_and_tag_nobody(visitor: Visitor, db: Database, amina_id: str) -> None:
    stored(db, amina_id, name="Kofi")
    visitor.sign_in(EMAIL, amina_id, Role.VIEWER)
    home = home_of(db, amina_id)
    assert 'type="checkbox"' not in visitor.get(f"{home}/contacts").text
    assert visitor.get(f"{home}/contacts/tags?all=yes").status_code == 403
    fields = {"all": "yes", "tag": "gold", "way": "add"}
    assert visitor.post(f"{home}/contacts/tags", fields).status_code == 403
