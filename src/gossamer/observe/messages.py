"""Messages as single safe lines, and the list of the last ones."""

from collections import deque
from collections.abc import Iterator, Mapping

import msgspec

from gossamer.coordinator import Level
from gossamer.observe.escape import printable

MAX_REMEMBERED = 20

MessageFields = Mapping[str, str | int | float]


def sentence(message: str, fields: MessageFields) -> str:
    """Return `the message (host=a.test, tries=3)` on one line."""
    if fields:
        listed = [
            f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in fields.items()
        ]
        message = f"{message} ({', '.join(listed)})"
    return printable(message)


class Message(msgspec.Struct, frozen=True):
    """A message and how often it was repeated in a row."""

    level: Level
    text: str
    times: int = 1

    def __str__(self) -> str:
        repeated = f" ({self.times:,} times)" if self.times > 1 else ""
        label = "" if self.level == "info" else f"{self.level}: "
        return f"{label}{self.text}{repeated}"


class Messages:
    """The last messages, and the last serious ones; a repeated one is one entry."""

    def __init__(self) -> None:
        self._latest: deque[Message] = deque(maxlen=MAX_REMEMBERED)
        self._serious: deque[Message] = deque(maxlen=MAX_REMEMBERED)
        self._serious_ever = 0

    def add(self, level: Level, text: str) -> None:
        """Add a message; the oldest may be dropped."""
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
        """Yield the last warnings and errors, and before them how many are not shown."""
        forgotten = self._serious_ever - len(self._serious)
        if forgotten:
            yield f"earlier warnings not shown: {forgotten:,}"
        yield from map(str, self._serious)
