"""The reasons why a server does not answer, in one sentence for whoever wrote its address."""

import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis import exceptions

from gossamer.errors import CrawlError
from gossamer.stores.away import StoreAwayError
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.checks import ServerFacts, ServerFinding, judge
from gossamer.stores.redis.nodes import CONNECT_S
from gossamer.stores.redis.passing import in_words, is_passing

NOTHING_GOES = "without the store nothing can be crawled"
IS_IT_THERE = "check that the server runs and that its address is right"


@asynccontextmanager
async def explained(
    address: RedisAddress, *more: type[Exception], patience_s: float = CONNECT_S
) -> AsyncIterator[None]:
    """Turn the error of a server that does not answer, or one of `more`, into a CrawlError.

    It is a `StoreAwayError` if it may pass in a moment.
    """
    kinds: tuple[type[Exception], ...] = (exceptions.RedisError, OSError, *more)
    try:
        yield
    except kinds as error:
        words = str(explain(error, address, patience_s))
        if is_passing(error) or isinstance(error, more):
            raise StoreAwayError(words, in_words(error)) from error
        raise CrawlError(words) from error


def explain(error: Exception, address: RedisAddress, patience_s: float) -> ServerFinding:
    """Return what an error in the first commands to a server means."""
    words = " ".join(str(error).split())
    if address.password:  # some servers quote what they did not understand
        words = words.replace(address.password, "***")
    match error:
        case exceptions.BusyLoadingError():
            return judge(ServerFacts(loading=True), address)[0]
        case exceptions.AuthenticationError():
            return _no_entry(words, address)
        case exceptions.ResponseError():
            return _denied(error, words, address)
        case TimeoutError() | exceptions.TimeoutError():
            remedy = IS_IT_THERE + (", and whether it speaks TLS" if address.tls else "")
            what = f"{address.place} did not answer within {patience_s:g} s"
            return _refusal(what, remedy, passing=True)
        case exceptions.ConnectionError() | OSError() | RuntimeError():  # the last by uvloop
            return _no_connection(error, words, address)
    what = f"what answers at {address.place} is not a Redis"
    maybe_tls = "" if address.tls else ", and whether it wants TLS (rediss://)"
    return _refusal(what, f"check host and port{maybe_tls}")


def _refusal(what: str, remedy: str, *, passing: bool = False) -> ServerFinding:
    return ServerFinding("refuse", what, NOTHING_GOES, remedy, passing)


def _no_entry(words: str, address: RedisAddress) -> ServerFinding:
    if address.password is None:
        return _refusal(
            "the server wants a password and the address has none",
            "write it as redis://:password@host, preferably in the variable GOSSAMER_STORE",
        )
    if "without any password configured" in words:
        return _refusal(
            "the address has a password and the server has none",
            "set one on the server (requirepass or ACL SETUSER), or leave it out",
        )
    who = f"user {address.user}" if address.user else "default user"
    return _refusal(
        f"the server did not accept the password of the {who}",
        "compare it with the server's; in a URL, characters other than letters and digits must be"
        " percent-encoded",
    )


def _denied(error: Exception, words: str, address: RedisAddress) -> ServerFinding:
    if isinstance(error, exceptions.NoPermissionError):
        return _refusal(f"the user may not use INFO ({words})", "ACL SETUSER … +info")
    if "protected mode" in words:
        return _refusal(
            f"{address.place} accepts connections from its own machine only (protected mode)",
            "set a password on the server",
        )
    if "DB index" in words:
        return _refusal(f"the server has no database {address.db}", "use 0, or leave it out")
    return _refusal(f"the server refused the first command ({words})", "check its settings")


def _no_connection(error: Exception, words: str, address: RedisAddress) -> ServerFinding:
    place = address.place
    cause = error.__context__ or error
    match cause:
        case ssl.SSLCertVerificationError():
            return _refusal(
                f"the certificate of {place} is not trusted ({cause.verify_message})",
                "name the file of its authority in the variable SSL_CERT_FILE",
            )
        case ssl.SSLError():
            return _refusal(f"{place} does not speak TLS", "write redis://, or set up TLS there")
    if isinstance(cause, ConnectionResetError | BrokenPipeError) or "closed" in words:
        return _refusal(
            f"{place} closed the connection at once",
            "check that it is a Redis, and whether it wants TLS (rediss://)",
            passing=True,
        )
    return _refusal(
        f"{place} cannot be reached ({_reason(cause, words)})", IS_IT_THERE, passing=True
    )


def _reason(cause: BaseException, words: str) -> str:
    """Return the system's words for it, which are shorter than the libraries'."""
    if not isinstance(cause, OSError):
        return words
    number = cause.errno or 0
    return os.strerror(number) if number > 0 else cause.strerror or words
