"""A carrier dies and returns, and the console says so, in a real browser."""

from contextlib import ExitStack
from pathlib import Path

import sqlalchemy as sa
from playwright.sync_api import Browser, expect

from heliograph.carriers.tables import carriers
from heliograph.database import config
from tests.support.api.server import Server
from tests.support.console.entering import CONNECTS_WITHIN_MS, TOLD_WITHIN_MS, sign_in_operator
from tests.support.factories import open_carrier
from tests.support.portal.browsing import at_both_widths, opened, picture
from tests.support.services import free_port
from tests.support.wire.smsc_peer import running_smsc


@at_both_widths
def test_a_carrier_that_dies_is_told_within_seconds_and_so_is_its_return(
    browser: Browser, server: Server, width: int, tmp_path: Path
) -> None:
    db, port, name = server.cast.amina.db, free_port(), f"gh-main-{width}"
    page = opened(browser, width)
    with ExitStack() as peer:
        peer.enter_context(running_smsc(f"--port={port}"))
        open_carrier(
            db,
            name,
            port=port,
            prefix=None,
            system_id="amina",
            backoff_min_s=0.1,
            backoff_max_s=1.0,
        )
        sign_in_operator(page, server, db)
        page.goto(f"{server.url}/console")
        expect(page.get_by_role("heading", name="Now", exact=True)).to_be_visible()
        row = page.get_by_role("row").filter(has_text=name)
        expect(row.get_by_text("bound", exact=True)).to_be_visible(timeout=CONNECTS_WITHIN_MS)
        expect(page.get_by_text(f"Carrier {name}")).to_have_count(0)
        expect(page.get_by_role("img")).to_have_count(6, timeout=40_000)  # two samples were taken
        picture(page, "console-now")
        with page.expect_response(lambda answer: "/console/now" in answer.url):
            pass  # the page has just looked, so it will not look again for longest
    said = page.get_by_text(f"Carrier {name} has had no bound session")
    expect(said).to_be_visible(timeout=TOLD_WITHIN_MS)
    expect(page.get_by_text(f"heliograph carrier test {name}")).to_be_visible()
    picture(page, "console-now-carrier-down")
    page.get_by_role("link", name=f"Carrier {name}", exact=True).click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    page.goto(f"{server.url}/console")
    expect(said).to_be_visible()
    with running_smsc(f"--port={port}"):
        expect(said).to_have_count(0, timeout=CONNECTS_WITHIN_MS)
    page.get_by_role("link", name="All figures").click()
    expect(page.get_by_role("heading", name="Figures of the last hour")).to_be_visible()
    picture(page, "console-now-figures")
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save as CSV").click()
    assert saved.value.suggested_filename == "now-hour.csv"
    with db.write() as tx:
        tx.execute(sa.delete(carriers).where(carriers.c.name == name))
        config.bump(tx)
    page.context.close()
