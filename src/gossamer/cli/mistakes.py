"""What is wrong with a command line, in our words where those of the library mislead."""

from collections.abc import Sequence
from itertools import pairwise

from cyclopts import Argument, CycloptsError, MissingArgumentError, UnusedCliTokensError

OUTPUT = frozenset({"-o", "--output"})


def mistake(error: CycloptsError, words: Sequence[str]) -> str:
    """Return one sentence about a command line that the library could not read."""
    match error:
        case UnusedCliTokensError(unused_tokens=[*unused]):
            found = " and ".join(f"'{word}'" for word in unused)
            return f"{found} cannot be used here: leave {'it' if len(unused) == 1 else 'them'} out."
        case MissingArgumentError(keyword=str(flag)):
            return _without_value(flag, words)
        case MissingArgumentError(argument=Argument(name=name)):
            return f"{name} is missing."
        case _:
            return " ".join(str(error).split())


def _without_value(flag: str, words: Sequence[str]) -> str:
    """Return what is wrong with an option behind which the library found no value."""
    word = next((after for one, after in pairwise(words) if one == flag), "")
    if word == "-" and flag in OUTPUT:
        return f"{flag} writes to files, directories or s3://, not to standard output: name one."
    if word[:1] == "-" and word[1:2].isdigit():
        return f"{flag} cannot be negative, as {word} is."
    return f"{flag} needs a value."
