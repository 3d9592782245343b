"""The errors of a server: which may pass, and what they mean to whoever wrote its address."""

import os
import ssl
from typing import Final, Literal

import msgspec
from redis import exceptions

from gossamer.model.errors import CrawlError
from gossamer.stores.reconnect import StoreAwayError
from gossamer.stores.redis.address import RedisAddress

NOTHING_GOES: Final = "without the store nothing can be crawled"
IS_IT_THERE: Final = "check that the server runs and that its address is right"
ELSEWHERE: Final = (exceptions.AskError, exceptions.ReadOnlyError, exceptions.ClusterDownError)
"""The errors of a server that does not, or no longer, hold the crawl; nothing was carried out.
Its address, or the cluster, may lead to another by now."""
PASSING: Final = ("BUSY", "NOREPLICAS")
"""How other errors begin that may pass in a moment; nothing was carried out."""
LOST: Final = (exceptions.ConnectionError, exceptions.TimeoutError, OSError, RuntimeError)
"""uvloop says with the last that the other side has hung up."""


class ServerFinding(msgspec.Struct, frozen=True):
    """One thing about a server that is not as it should be."""

    severity: Literal["refuse", "warn"]
    what: str
    why: str
    """What it costs."""
    remedy: str
    passing: bool = False
    """It may pass in a moment: worth waiting for."""

    def __str__(self) -> str:
        return f"{self.what}: {self.why}; {self.remedy}"


def is_passing(error: Exception) -> bool:
    """Tell whether an error in the middle of a crawl may pass in a moment."""
    may_be_elsewhere = isinstance(error, (*LOST, *ELSEWHERE, exceptions.TryAgainError))
    return may_be_elsewhere or str(error).startswith(PASSING)


def in_words(error: Exception) -> str:
    """Return what went wrong, for whoever waits until it passes."""
    if isinstance(error, exceptions.AskError):  # or MOVED, which it includes
        return "another node of the cluster has it now"
    return str(error) or type(error).__name__


def complaint(error: Exception) -> str:
    """Return a sentence about an error in the middle of a crawl."""
    words = " ".join(str(error).split())[:300]
    if isinstance(error, exceptions.OutOfMemoryError):
        what, remedy = "has no memory left", "raise its maxmemory"
    elif words.startswith("MISCONF"):
        what, remedy = "cannot save its data", "give its disk room"
    else:
        return f"the store refused a command ({words or type(error).__name__})"
    return f"the store {what} ({words}): {remedy}, then run the same command again to continue"


def crawl_error(error: Exception) -> CrawlError:
    """Return an error in the middle of a crawl for whoever asked; a StoreAwayError passes."""
    words = complaint(error)
    return StoreAwayError(words, in_words(error)) if is_passing(error) else CrawlError(words)


def first_error(error: Exception, address: RedisAddress, patience_s: float) -> CrawlError:
    """Return an error in the first commands to a server; a StoreAwayError passes."""
    finding = explain(error, address, patience_s)
    words = str(finding)
    return StoreAwayError(words, finding.what) if finding.passing else CrawlError(words)


def explain(error: Exception, address: RedisAddress, patience_s: float) -> ServerFinding:
    """Return what an error in the first commands to a server means."""
    words = " ".join(str(error).split())
    if address.password:  # some servers quote what they did not understand
        words = words.replace(address.password, "***")
    match error:
        case exceptions.BusyLoadingError():
            return _refusal("the server is still loading its data", "wait", passing=True)
        case exceptions.AuthenticationError():
            return _no_entry(words, address)
        case exceptions.ResponseError():
            return _denied(error, words, address)
        case TimeoutError() | exceptions.TimeoutError():
            remedy = IS_IT_THERE + (", and whether it speaks TLS" if address.tls else "")
            what = f"{address.place} did not answer within {patience_s:g} s"
            return _refusal(what, remedy, passing=True)
        case exceptions.ConnectionError() | OSError():
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
    number = cause.errno or 0 if isinstance(cause, OSError) else 0
    # The system's words are shorter than the libraries'.
    reason = os.strerror(number) if number > 0 else getattr(cause, "strerror", None) or words
    return _refusal(f"{place} cannot be reached ({reason})", IS_IT_THERE, passing=True)
