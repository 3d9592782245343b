"""A secret in memory: it is never stored, logged or shown."""

from typing import Final, NoReturn

MASK: Final = "********"


class Secret:
    """A text that only `reveal` shows.

    It is not a struct and refuses to be pickled, so that no encoder takes it along by accident.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text, to be sent where it belongs."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return MASK

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not copied")
