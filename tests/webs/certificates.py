"""Certificates of a simulated web, good and bad ones, made by trustme."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme

_LINKS_OF_CHAIN = 500


class Certificates:
    """The certificates of a web: those of an authority to trust, and others."""

    def __init__(self) -> None:
        self._trusted = trustme.CA()

    def write_authority(self, path: Path) -> None:
        """Write the certificate that a client is to trust (`--ca-file`)."""
        path.write_bytes(self._trusted.cert_pem.bytes())

    def valid(self, name: str) -> ssl.SSLContext:
        """Return what shows a good certificate of a host."""
        return _showing(self._trusted.issue_cert(name))

    def expired(self, name: str) -> ssl.SSLContext:
        """Return what shows a certificate that has run out."""
        yesterday = datetime.now(UTC) - timedelta(days=1)
        return _showing(self._trusted.issue_cert(name, not_after=yesterday))

    def of_other_host(self, name: str) -> ssl.SSLContext:
        """Return what shows the good certificate of another host."""
        return self.valid(f"not-{name}")

    def of_unknown_authority(self, name: str) -> ssl.SSLContext:
        """Return what shows a certificate that nobody has a reason to trust."""
        return _showing(trustme.CA().issue_cert(name))

    def self_signed(self, name: str) -> ssl.SSLContext:
        """Return what shows a certificate, and the host's own authority that has signed it."""
        authority = trustme.CA()
        return _showing(authority.issue_cert(name), authority.cert_pem.bytes())

    def of_long_chain(self, name: str) -> ssl.SSLContext:
        """Return what shows several hundred certificates."""
        links = self._trusted.cert_pem.bytes() * _LINKS_OF_CHAIN
        return _showing(self._trusted.issue_cert(name), links)


def _showing(certificate: trustme.LeafCert, links: bytes = b"") -> ssl.SSLContext:
    """Return what shows a certificate, and further links of its chain."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with certificate.private_key_and_cert_chain_pem.tempfile() as path:
        with Path(path).open("ab") as file:
            file.write(links)
        context.load_cert_chain(path)
    return context
