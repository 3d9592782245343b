"""Errors of a server that pass: it may answer in a moment, or another one may have the crawl."""

from redis import exceptions

ELSEWHERE = (exceptions.AskError, exceptions.ReadOnlyError, exceptions.ClusterDownError)
"""The errors of a server that does not, or no longer, hold the crawl; nothing was carried out.
Its address, or the cluster, may lead to another by now."""
PASSING = ("BUSY", "NOREPLICAS")
"""How other errors begin that may pass in a moment; nothing was carried out."""
LOST = (exceptions.ConnectionError, exceptions.TimeoutError, OSError)


def is_passing(error: Exception) -> bool:
    """Tell whether an error may pass in a moment."""
    may_be_elsewhere = isinstance(error, (*LOST, *ELSEWHERE, exceptions.TryAgainError))
    return may_be_elsewhere or str(error).startswith(PASSING)


def in_words(trouble: Exception) -> str:
    """Return what went wrong, for whoever waits."""
    if isinstance(trouble, exceptions.AskError):  # or MOVED, which it includes
        return "another node of the cluster has it now"
    return str(trouble) or type(trouble).__name__
