"""The bench asks for every page of an account of the portal, so it has one of each thing."""

from string import Formatter

from bench.pages import page_paths
from heliograph.portal.pages import PAGES
from tests.support.portal.routes import There

# who is not signed in opens these, and nothing of an account is on them
OF_NO_ACCOUNT = ("/portal/sign-in", "/portal/sign-up", "/portal/invitation", "/portal/language")


def test_every_page_of_an_account_is_measured() -> None:
    left = {page.path for page in PAGES if not page.is_form} - {*page_paths()}
    others = {path for path in left if not path.startswith(OF_NO_ACCOUNT)}
    assert {path for path in others if not path.endswith(("/export", "/file"))} == {"/portal"}


def test_there_is_one_of_each_thing_that_a_page_is_about() -> None:
    parameters = {
        name for path in page_paths() for _, name, _, _ in Formatter().parse(path) if name
    }
    assert "event" in parameters
    assert parameters <= {*There._fields}
