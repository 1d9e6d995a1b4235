"""Makes certificates for the tests' own servers: an authority, and what it signs."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Key = ec.EllipticCurvePrivateKey


class Authority:
    """Signs certificates as an authority. `file` is its own certificate, in PEM, in the folder
    where all are kept.
    """

    def __init__(self, folder: Path, name: str = "test authority") -> None:
        self._folder = folder
        self._name = name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.file = folder / f"{name.replace(' ', '-')}.pem"
        own = _certificate(
            name,
            self._key,
            name,
            self._key,
            x509.BasicConstraints(ca=True, path_length=0),
            valid_days=1,
        )
        self.file.write_bytes(own.public_bytes(serialization.Encoding.PEM))

    def sign(self, *hosts: str, valid_days: int = 1) -> tuple[Path, Path]:
        """Signs a certificate for names and addresses, and returns it with its key. Below 1 day it
        has expired.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        signed = _certificate(hosts[0], key, self._name, self._key, names, valid_days)
        stem = f"{self.file.stem}-{hosts[0].replace(':', '_')}-{valid_days}"
        certificate, secret = self._folder / f"{stem}.pem", self._folder / f"{stem}.key"
        certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        secret.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return certificate, secret

    def server(self, *hosts: str, valid_days: int = 1) -> ssl.SSLContext:
        """Returns what a server of these hosts needs."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.sign(*hosts, valid_days=valid_days))
        return context


def _general_name(host: str) -> x509.GeneralName:
    return x509.DNSName(host) if host[-1].isalpha() else x509.IPAddress(ip_address(host))


def _certificate(
    name: str,
    key: Key,
    issuer: str,
    issuer_key: Key,
    extension: x509.ExtensionType,
    valid_days: int,
) -> x509.Certificate:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=10))
        .not_valid_after(now + timedelta(days=valid_days))
        .add_extension(extension, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
        .sign(issuer_key, hashes.SHA256())
    )
