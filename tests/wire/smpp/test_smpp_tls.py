"""A carrier's certificate is verified when SMPP runs over TLS, against an authority of the
operator's own if need be.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.carriers.link import LinkState, SubmitOutcome
from tests.support.certificates import Authority
from tests.support.wire.recorder import bound, opened, prepared, submit_all
from tests.support.wire.smsc_peer import STANDARD_RECEIPT, Smsc, running_smsc


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with ca.pem, and cert.pem and key.pem of a carrier at 127.0.0.1."""
    folder = tmp_path_factory.mktemp("tls")
    made = Authority(folder)
    certificate, key = made.sign("127.0.0.1")
    made.file.rename(folder / "ca.pem")
    certificate.rename(folder / "cert.pem")
    key.rename(folder / "key.pem")
    return folder


@pytest.fixture(scope="module")
def tls_smsc(authority: Path) -> Iterator[Smsc]:
    with running_smsc(f"--key={authority / 'key.pem'}", f"--cert={authority / 'cert.pem'}") as smsc:
        yield smsc


async def test_messages_and_receipts_go_over_tls(tls_smsc: Smsc, authority: Path) -> None:
    await tls_smsc.behave(receipts=[STANDARD_RECEIPT])
    async with bound(
        tls_smsc.settings(tls=True, tls_ca_file=str(authority / "ca.pem"), window=50)
    ) as (link, inbox):
        await submit_all(link, inbox, prepared(link, 200))
        await inbox.until_received(200)
        await tls_smsc.until("acknowledged", 200)
    assert set(inbox.outcomes()) == {SubmitOutcome.ACCEPTED}


@pytest.mark.parametrize(
    ("ca_file", "host"),
    [(None, "127.0.0.1"), ("ca.pem", "localhost"), ("missing.pem", "127.0.0.1")],
    ids=["unknown authority", "another name", "no such file"],
)
async def test_no_password_goes_to_a_carrier_that_cannot_prove_its_name(
    tls_smsc: Smsc, authority: Path, ca_file: str | None, host: str
) -> None:
    tls_smsc.reset()
    settings = tls_smsc.settings(
        tls=True, tls_ca_file=str(authority / ca_file) if ca_file else None, host=host
    )
    async with opened(settings) as (_, inbox):
        await inbox.until(
            lambda: [state for state, _ in inbox.states].count(LinkState.BACKING_OFF) >= 2
        )
    assert (await tls_smsc.log())["binds"] == []
