"""SMPP over TLS: the carrier's certificate is verified, against an authority of the operator's own if need be."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from heliograph.carriers.link import LinkState, Outcome
from tests.wire.recorder import bound, opened, prepared, submit_all
from tests.wire.smsc_peer import STANDARD_RECEIPT, Smsc, running_smsc

Key = ec.EllipticCurvePrivateKey


def certificate(name: str, key: Key, issuer: str, issuer_key: Key, extension: x509.ExtensionType) -> x509.Certificate:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(extension, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
        .sign(issuer_key, hashes.SHA256())
    )


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ca.pem, and cert.pem and key.pem of a carrier at 127.0.0.1."""
    folder = tmp_path_factory.mktemp("tls")
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca = certificate("test authority", ca_key, "test authority", ca_key, x509.BasicConstraints(ca=True, path_length=0))
    address = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
    own = certificate("smsc", key, "test authority", ca_key, address)
    (folder / "ca.pem").write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    (folder / "cert.pem").write_bytes(own.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    return folder


@pytest.fixture(scope="module")
def tls_smsc(authority: Path) -> Iterator[Smsc]:
    with running_smsc(f"--key={authority / 'key.pem'}", f"--cert={authority / 'cert.pem'}") as smsc:
        yield smsc


async def test_messages_and_receipts_go_over_tls(tls_smsc: Smsc, authority: Path) -> None:
    await tls_smsc.behave(receipts=[STANDARD_RECEIPT])
    async with bound(tls_smsc.settings(tls=True, tls_ca_file=str(authority / "ca.pem"), window=50)) as (link, inbox):
        await submit_all(link, inbox, prepared(link, 200))
        await inbox.until_received(200)
        await tls_smsc.until("acknowledged", 200)
    assert set(inbox.outcomes()) == {Outcome.ACCEPTED}


@pytest.mark.parametrize(
    ("ca_file", "host"),
    [(None, "127.0.0.1"), ("ca.pem", "localhost"), ("missing.pem", "127.0.0.1")],
    ids=["unknown authority", "another name", "no such file"],
)
async def test_no_password_goes_to_a_carrier_that_cannot_prove_its_name(tls_smsc: Smsc, authority: Path, ca_file: str | None, host: str) -> None:
    tls_smsc.reset()
    settings = tls_smsc.settings(tls=True, tls_ca_file=str(authority / ca_file) if ca_file else None, host=host)
    async with opened(settings) as (_, inbox):
        await inbox.until(lambda: [state for state, _ in inbox.states].count(LinkState.BACKING_OFF) >= 2)
    assert (await tls_smsc.log())["binds"] == []
