"""Messages in words: one line each, safe to show, and a short memory for them."""

from collections import deque
from collections.abc import Iterator, Mapping

import msgspec

from gossamer.coordinator import Level
from gossamer.observe.escape import printable

MAX_REMEMBERED = 20

Fields = Mapping[str, str | int | float]


def sentence(message: str, fields: Fields) -> str:
    """Return `the message (host=a.test, tries=3)` on one line."""
    if fields:
        told = ", ".join(f"{name}={_value(value)}" for name, value in fields.items())
        message = f"{message} ({told})"
    return printable(message)


def _value(value: str | float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


class Message(msgspec.Struct, frozen=True):
    """A message and how often it came in a row."""

    level: Level
    text: str
    times: int = 1

    def __str__(self) -> str:
        repeated = f" ({self.times:,} times)" if self.times > 1 else ""
        label = "" if self.level == "info" else f"{self.level}: "
        return f"{label}{self.text}{repeated}"


class Messages:
    """The last messages, and the last serious ones; one that repeats itself takes one place."""

    def __init__(self) -> None:
        self._latest: deque[Message] = deque(maxlen=MAX_REMEMBERED)
        self._serious: deque[Message] = deque(maxlen=MAX_REMEMBERED)
        self._serious_ever = 0

    def add(self, level: Level, text: str) -> None:
        """Remember a message, at the price of the oldest."""
        serious = level != "info"
        times = 1
        if self._latest and (self._latest[-1].level, self._latest[-1].text) == (level, text):
            times += self._latest.pop().times
            if serious:
                self._serious.pop()
        elif serious:
            self._serious_ever += 1
        message = Message(level, text, times)
        self._latest.append(message)
        if serious:
            self._serious.append(message)

    def latest(self, number: int) -> list[Message]:
        """Return the last few, oldest first."""
        return list(self._latest)[-number:]

    def serious(self) -> Iterator[str]:
        """Yield the warnings and errors that are remembered, and how many are not."""
        forgotten = self._serious_ever - len(self._serious)
        if forgotten:
            yield f"earlier warnings that are not shown: {forgotten:,}"
        yield from map(str, self._serious)
