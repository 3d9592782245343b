"""URLs, digests and sketches for the tests; URLs are written `host/path`."""

import hashlib

from gossamer.frontier.contract import Link
from gossamer.model import HostKey, Url
from gossamer.model.names import Sketch

SAMPLE_BYTES = 256
BAND_BYTES = 8


def domain_of(host: str) -> str:
    return ".".join(host.split(".")[-2:])


def link(name: str) -> Link:
    """Return the link to `host/path`; `.test` is added to the host."""
    host, _, path = name.partition("/")
    url = Url(f"http://{host}.test/{path}")
    key = hashlib.blake2b(url.encode(), digest_size=16).digest()
    return Link(url, key, HostKey(f"{host}.test"), domain_of(f"{host}.test"))


def name_of(url: str) -> str:
    return url.removeprefix("http://").replace(".test/", "/", 1)


def sketch_of(family: str, changed: int = 0) -> Sketch:
    """Return a sketch that differs from others of its family in so many of 255 parts.

    Two members differ in the parts of the one that has changed more. Those that have changed by
    less than 192 share bands.
    """
    whole = hashlib.shake_256(family.encode()).digest(SAMPLE_BYTES)
    other = bytes(one ^ 1 + changed % 255 for one in whole)
    sample = whole[: SAMPLE_BYTES - changed] + other[SAMPLE_BYTES - changed :]
    bands = (sample[start : start + BAND_BYTES] for start in range(0, 64, BAND_BYTES))
    return Sketch(tuple(bands), sample)


def own_of(changed: int = 0) -> bytes:
    """Return the sample of an own content that differs from others in so many of 255 parts."""
    return sketch_of("what pages say themselves", changed).sample


def digest_of(content: str) -> bytes:
    return hashlib.blake2b(content.encode(), digest_size=16).digest()
