"""The links of a page in slices, as a server takes them that nobody is to hold up."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gossamer.stores.contract import Link
from gossamer.stores.redis.messages import LinksMessage, bundle

LINKS_AT_ONCE = 1000
"""This many the step that settles a page adds, and each of those after it (`lua/slices.lua`)."""


class Bundle(NamedTuple):
    """One slice: its message, and the keys of the links that go as URLs."""

    message: LinksMessage
    keys: list[bytes]


class SlicedLinks:
    """The slices of a page's links; there is at least one, which may be empty."""

    def __init__(self, links: Sequence[Link]) -> None:
        starts = range(0, max(1, len(links)), LINKS_AT_ONCE)
        self._slices = [links[first : first + LINKS_AT_ONCE] for first in starts]

    def bundles(self, known: Mapping[bytes, int]) -> list[Bundle]:
        """Return what is sent; links about which nothing is new go as their ids."""
        return [Bundle(*bundle(links, known)) for links in self._slices]

    def keys(self, place: int, indexes: Sequence[int]) -> list[bytes]:
        """Return the keys of links of one slice, which are counted from 1."""
        links = self._slices[place]
        return [links[index - 1].key for index in indexes]
