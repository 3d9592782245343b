"""Commands of one transaction, packed as they are sent: few large ones, and none too large."""

from collections.abc import Iterable, Mapping, Sequence

from gossamer.model import HostKey
from gossamer.stores.redis.blocking_link import Word, pack

MOST_WORDS = 4_000
MOST_BYTES = 1_000_000
"""How much of one command there may be: others want to be served between large ones."""


class PackedCommands:
    """Commands in their order."""

    def __init__(self) -> None:
        self._packed: list[bytes] = []

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._packed)

    def packed(self) -> bytes:
        """Return them all."""
        return b"".join(self._packed)

    def add(self, *command: Word) -> None:
        """Add one command."""
        self._packed.append(pack(command))

    def set_fields(self, key: bytes, fields: Mapping[int, bytes] | Mapping[str, bytes]) -> None:
        """Set fields of a hash."""
        command: list[Word] = [b"HSET", key]
        size = 0
        for field, value in fields.items():
            command += (field, value)
            size += len(value)
            if size >= MOST_BYTES or len(command) >= MOST_WORDS:
                self._packed.append(pack(command))
                command, size = [b"HSET", key], 0
        if len(command) > 2:
            self._packed.append(pack(command))

    def set_keys(self, key: bytes, ids: Mapping[bytes, int] | Mapping[HostKey, int]) -> None:
        """Set fields of a hash that tell ids."""
        self.with_words(b"HSET", key, [word for entry in ids.items() for word in entry])

    def append(self, key: bytes, values: Iterable[bytes]) -> None:
        """Append values to a list."""
        command: list[Word] = [b"RPUSH", key]
        size = 0
        for value in values:
            command.append(value)
            size += len(value)
            if size >= MOST_BYTES or len(command) >= MOST_WORDS:
                self._packed.append(pack(command))
                command, size = [b"RPUSH", key], 0
        if len(command) > 2:
            self._packed.append(pack(command))

    def with_words(self, name: bytes, key: bytes, words: Sequence[Word]) -> None:
        """Add a command that takes any number of small words, such as HDEL, HSET, ZREM and ZADD.

        Words that belong together, as score and member, are two or four.
        """
        for first in range(0, len(words), MOST_WORDS):
            self._packed.append(pack((name, key, *words[first : first + MOST_WORDS])))
