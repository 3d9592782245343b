"""The secrets of a crawl, read from where its options and rules say: the environment and files.

Each process that makes requests reads them for itself when it starts; they are not part of what
travels, and nothing of a value is in any message.
"""

import base64
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gossamer.config.secret import Secret
from gossamer.download.request_settings import ProxyLogin
from gossamer.errors import UsageError

MAX_SECRET_BYTES: Final = 16_384
_BEARER = "bearer "


def from_variable(name: str, what: str, environment: Mapping[str, str]) -> Secret:
    """Return what is in a variable; `what` names who wants it."""
    found = environment.get(name, "")
    if not found.strip():
        raise UsageError(
            f"{what} needs the environment variable {name}, which is not set: secrets are not "
            "stored with a crawl, so set it for each process that makes requests"
        )
    return _checked(found, f"the environment variable {name} for {what}")


def from_file(path: str, what: str) -> Secret:
    """Return what is in a file, without the end of its line."""
    try:
        with Path(path).open("rb") as file:
            found = file.read(MAX_SECRET_BYTES + 1).decode()
    except OSError as error:
        raise UsageError(f"{what} needs the file {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        found = "\0"
    if len(found) > MAX_SECRET_BYTES or not found.strip():
        raise UsageError(f"{what} needs the file {path}, which is empty or far too long")
    return _checked(found.rstrip("\r\n"), f"the file {path} for {what}")


def authorization(secret: Secret, what: str) -> Secret:
    """Return the value of the header field Authorization: basic for user:password, or bearer."""
    found = secret.reveal()
    is_bearer = found.lower().startswith(_BEARER)
    if ":" in found and not is_bearer:
        return Secret(f"Basic {base64.b64encode(found.encode()).decode()}")
    token = found[len(_BEARER) :] if is_bearer else found
    return for_field(Secret(f"Bearer {token.strip()}"), what)


def for_field(secret: Secret, what: str) -> Secret:
    """Return the secret if it can be the value of a header field."""
    if not secret.reveal().isascii():
        raise UsageError(f"{what} is sent in a header, so its value must be ASCII")
    return secret


def proxy_login(secret: Secret, what: str) -> ProxyLogin:
    """Return user and password for a proxy."""
    user, colon, password = secret.reveal().partition(":")
    if not colon or not user:
        raise UsageError(f"{what} must hold user:password, with a colon between them")
    return ProxyLogin(user, Secret(password))


def check_certificate(cert: str, key: str | None, what: str) -> None:
    """Raise `UsageError` unless these files hold a certificate and its key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_cert_chain(cert, key, password=_no_password)
    except ssl.SSLError as error:
        raise UsageError(
            f"{what} {cert} and its key {key or cert} do not go together, or are not PEM without "
            f"a password: {error.reason or error}"
        ) from error
    except OSError as error:
        raise UsageError(f"{what} {cert}, key {key or cert}: {error.strerror or error}") from error


def check_authorities(file: str, what: str) -> None:
    """Raise `UsageError` unless the file holds certificates to trust."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
    except ssl.SSLError as error:
        raise UsageError(f"{what} {file} has no certificates in PEM form") from error
    except OSError as error:
        raise UsageError(f"{what} {file}: {error.strerror or error}") from error


def _checked(found: str, what: str) -> Secret:
    """Return the secret if it fits on a line of a header: nothing can be smuggled in with it."""
    if not found.isprintable():
        raise UsageError(f"{what} must hold one line of printable text")
    return Secret(found)


def _no_password() -> str:
    raise OSError("the key is encrypted: store it without a password, readable by you only")
