"""The hosts of the simulated web: what each is like, drawn from the seed and its name."""

import re
from collections.abc import Callable, Iterator, Mapping

import msgspec

from gossamer.testing.graph.draws import draws
from gossamer.testing.simulator.fault import Fault
from gossamer.testing.simulator.languages import LANGUAGES, Language

_NUMBERED = re.compile(r"h(0|[1-9][0-9]{0,11})")
_FAN_OUT = 8
_SIZE_OF_NAMED = 6


class HostProfile(msgspec.Struct, frozen=True, kw_only=True):
    """One host of the simulated web."""

    label: str
    """Its name before the domain."""
    size: int
    """How many honest pages it has."""
    latency_s: float
    language: Language
    has_robots: bool
    """Whether its robots.txt forbids every tenth page."""
    has_sitemap: bool
    prefers_tls: bool
    """Whether its pages are https, where there are certificates."""
    fault: Fault | None = None

    def is_private(self, page: int) -> bool:
        """Return whether robots.txt forbids the page."""
        return self.has_robots and page % 10 == 9

    def children(self, page: int) -> Iterator[int]:
        """Yield the pages that a page leads to: each is reached, also past forbidden ones."""
        return heap_children(page, self.size, self.is_private)


def heap_children(one: int, size: int, is_closed: Callable[[int], bool]) -> Iterator[int]:
    """Yield the children of a number in a tree of all numbers, and those of closed children."""
    for child in range(_FAN_OUT * one + 1, min(_FAN_OUT * one + 1 + _FAN_OUT, size)):
        yield child
        if is_closed(child):
            yield from heap_children(child, size, is_closed)


class Hosts:
    """The profiles of all hosts, none of which is stored.

    Hosts h0, h1 … have sizes by a power law, h0 the largest, and some of them a fault; a host that
    is called like a fault has that fault.
    """

    def __init__(
        self,
        seed: int,
        count: int,
        largest: int,
        shares: Mapping[str, float],
        faults: Mapping[str, Fault],
    ) -> None:
        self._seed = seed
        self._count = count
        self._largest = largest
        self._shares = shares
        self._faults = faults

    def find(self, label: str) -> HostProfile | None:
        """Return the host of that name; None if there is none."""
        if label in self._faults:
            return self._profile(label, _SIZE_OF_NAMED, self._faults[label])
        found = _NUMBERED.fullmatch(label)
        return self.numbered(int(found[1])) if found and int(found[1]) < self._count else None

    def numbered(self, number: int) -> HostProfile:
        """Return the host of that rank."""
        size = max(1, round(self._largest * (number + 1) ** -0.8))
        return self._profile(f"h{number}", size, self.fault_of(number))

    def fault_of(self, number: int) -> Fault | None:
        """Return the fault of a host of that rank; h0 has none."""
        drawn = draws(f"{self._seed} fault {number}")() if number else 1.0
        for name, share in self._shares.items():
            drawn -= share
            if drawn < 0:
                return self._faults[name]
        return None

    def neighbours(self, number: int) -> Iterator[int]:
        """Yield the hosts that a host links to: each is reached, also past faulty ones."""
        return heap_children(number, self._count, lambda one: self.fault_of(one) is not None)

    def _profile(self, label: str, size: int, fault: Fault | None) -> HostProfile:
        draw = draws(f"{self._seed} host {label}")
        return HostProfile(
            label=label,
            size=size,
            # Most answer at once, a few take a tenth of a second.
            latency_s=0.1 * draw() ** 6,
            language=LANGUAGES[int(draw() * len(LANGUAGES))],
            has_robots=draw() < 0.3,
            has_sitemap=draw() < 0.3,
            prefers_tls=draw() < 0.5,
            fault=fault,
        )
