"""The names of outcomes on the command line."""

from collections.abc import Collection

from gossamer.errors import UsageError
from gossamer.model import Outcome


def parse_outcome(name: str, among: Collection[Outcome]) -> Outcome:
    """Return the outcome of that name, with underscores, hyphens or spaces in it.

    If there is none, the complaint names those among which to choose.
    """
    try:
        return Outcome(name.strip().lower().replace("-", "_").replace(" ", "_"))
    except ValueError as error:
        names = ", ".join(sorted(among))
        raise UsageError(f"there is no outcome {name!r}: name one of {names}") from error
