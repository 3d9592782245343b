"""The body of an answer, decoded while it arrives and never larger than the limit."""

from collections.abc import Iterator, Sequence

from gossamer.codings.decoders import CodingError, Decoder
from gossamer.model import Cause


class Body:
    """A buffer that decodes and keeps at most `limit` bytes, and at most one piece more."""

    def __init__(
        self, decoders: Sequence[Decoder], limit: int, coded_limit: int | None = None
    ) -> None:
        """Decode with these, outermost first.

        `coded_limit` bounds the bytes before the last decoder; by default it is `limit` as well.
        """
        self._decoders = decoders
        self._limit = limit
        self._coded_limit = limit if coded_limit is None else coded_limit
        self._received: list[bytes] = []
        self._pieces: list[bytes] = []
        self._over = False
        # The bytes received and those after each decoder. The limit applies to each: otherwise a
        # bomb inside a bomb could expand for ever and yield nothing at the last step.
        self._sizes = [0] * (len(decoders) + 1)

    @property
    def held(self) -> int:
        """How many bytes are kept so far, decoded and as they were received."""
        return self._sizes[-1] + (self._sizes[0] if self._decoders else 0)

    def feed(self, data: bytes) -> Cause | None:
        """Decode received bytes; return the reason to stop, if there is one."""
        if self._decoders:
            self._received.append(data)
        try:
            self._pieces.extend(self._decoded(data, 0))
        except CodingError:
            return Cause.BAD_CODING
        return Cause.BODY_TOO_LARGE if self._over else None

    def finish(self) -> Cause | None:
        """Return what is wrong with the complete body, if anything is."""
        # No bytes at all are an empty page, whatever its coding.
        if self._sizes[0] and not all(decoder.finished for decoder in self._decoders):
            return Cause.BAD_CODING
        return None

    def content(self) -> bytes:
        """Return the page, or its first `limit` bytes."""
        return b"".join(self._pieces)[: self._limit]

    def received(self) -> bytes:
        """Return the body as it was received, codings not undone; empty if it had none."""
        return b"".join(self._received)

    def _decoded(self, data: bytes, stage: int) -> Iterator[bytes]:
        self._sizes[stage] += len(data)
        is_decoded = stage == len(self._decoders)
        limit = self._limit if is_decoded else self._coded_limit
        self._over = self._over or self._sizes[stage] > limit
        if is_decoded:
            yield data
            return
        for piece in self._decoders[stage].decode(data):
            yield from self._decoded(piece, stage + 1)
            if self._over:
                return
