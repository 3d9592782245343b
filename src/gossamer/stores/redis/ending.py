"""Whether a divided crawl is over; pure.

No one moment can be seen on all servers. But what a look finds on each of them is compared with
what a second look finds after the first was complete. Where neither work was under way nor
anything has changed, everything stood still on every server from its first to its second look,
and so everywhere at the moment between: then the sums are those of one moment. What is on its way
shows as a message that was sent and not received, or as a claim that is not settled at the centre.
"""

from collections.abc import Sequence

import msgspec

from gossamer.frontier import Budget
from gossamer.stores.ledger import StoreRules
from gossamer.stores.redis.centre import CentreCounts
from gossamer.stores.redis.messages import SnapshotAnswer
from gossamer.stores.redis.post import Address


class Look(msgspec.Struct, frozen=True):
    """What was found on each server, not at one moment."""

    parts: Sequence[SnapshotAnswer]
    centre: CentreCounts

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is in work or on its way."""
        at_work = self.centre.claims or any(part.in_work for part in self.parts)
        return not at_work and not self.undelivered()

    def undelivered(self) -> dict[Address, int]:
        """Return who has sent what was not received, with the last message that was."""
        offices: list[SnapshotAnswer | CentreCounts] = [*self.parts, self.centre]
        received = {
            Address(sender, receiver): last
            for receiver, one in enumerate(offices)
            for sender, last in one.received
        }
        sent = {
            Address(sender, receiver): last
            for sender, one in enumerate(offices)
            for receiver, last in one.sent
        }
        return {
            address: received.get(address, 0)
            for address, last in sent.items()
            if last > received.get(address, 0)
        }


def ended_by(first: Look, second: Look, rules: StoreRules) -> str | None:
    """Return what has ended the crawl, if both looks agree that nothing goes on."""
    if first != second or not first.is_quiet:
        return None
    if not any(part.waiting for part in first.parts):
        return "complete"
    budget = Budget(rules.max_pages, rules.max_bytes, rules.max_page_bytes)
    budget.pages = sum(part.pages for part in first.parts)
    budget.bytes = sum(part.bytes for part in first.parts)
    return budget.exhausted_by(0)
