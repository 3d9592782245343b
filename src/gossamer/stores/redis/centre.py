"""The centre of a divided crawl: numbers, contents and budgets, of which there is one truth."""

from collections.abc import Sequence

import msgspec

from gossamer.content.similarity import Sketch
from gossamer.stores.contract import Claim, Task
from gossamer.stores.redis import messages
from gossamer.stores.redis.courier import Courier
from gossamer.stores.redis.messages import pack
from gossamer.stores.redis.part import Report
from gossamer.stores.redis.scripts import script


class CentreCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What the centre knows at one moment."""

    claims: int
    """How many URLs in work have asked for a number."""
    last_page: int
    gaps: list[int]
    sent: list[tuple[int, int]]
    received: list[tuple[int, int]]


_read_counts = msgspec.msgpack.Decoder(CentreCounts).decode
_read_pair = msgspec.msgpack.Decoder(tuple[int, int]).decode


class Centre:
    """Asks the centre."""

    def __init__(self, courier: Courier, now: float) -> None:
        self.courier = courier
        self._now = now

    def __repr__(self) -> str:
        return f"<Centre: {self.courier!r}>"

    async def claim(self, task: Task, digest: bytes, sketch: Sketch | None, now: float) -> Claim:
        """Give a page its number, unless a newer lease of its URL, or its content, was here."""
        bands, sample = (b"".join(sketch.bands), sketch.sample) if sketch else (b"", b"")
        lease = (task.url_id, task.lease)
        return messages.read_claim(await self._ask("claim", now, lease, digest, bands, sample))

    async def recall(self, task: Task, now: float) -> Claim:
        """Return what was answered to the claim of a task; it is lost if there was none."""
        return messages.read_claim(await self._ask("recall", now, (task.url_id, task.lease)))

    async def grant(
        self, partition: int, want: int, reports: Sequence[Report], now: float
    ) -> tuple[int, int]:
        """Grant pages to a partition; return how many it got in all, and how many now."""
        return _read_pair(await self._ask("grant", now, (partition, want, list(reports))))

    async def granted(self, now: float) -> list[int]:
        """Return how many pages each partition was granted in all."""
        return messages.read_numbers(await self._ask("granted", now, []))

    async def overdue(self, now: float) -> list[tuple[int, int]]:
        """Return old claims, URL and lease; those leases may be over."""
        return messages.read_pairs(await self._ask("overdue", now, []))

    async def counts(self) -> CentreCounts:
        """Count."""
        return _read_counts(await self._ask("count", None, []))

    async def _ask(self, step: str, now: float | None, arguments: object, *blobs: bytes) -> bytes:
        if now is not None:
            self._now = now
        return await self.courier.ask(script(step, "centre"), self._now, pack(arguments), *blobs)
