"""How large a crawl one server can hold, computed from what was measured: docs/scale.md.

    python -m benchmarks.scale --server-us 760 --cpu-ms 1.5

Nothing is measured here: what was measured is to be said.
"""

import argparse

import msgspec


class Assumptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a crawl is like, and the machines."""

    urls_per_page: float = 3.0
    """How many URLs are known in the end for each page that is kept."""
    keep_s: float = 3600.0
    """How long bodies are kept."""
    load: float = 0.7
    """How busy the server's one thread may be."""
    usable: float = 2 / 3
    """How much of a machine's memory the store may take (docs/deployment.md)."""
    page_bytes: float = 13_800.0
    """A page on the wire; that of the manual which was measured."""
    host_delay_s: float = 1.0
    """From one page of a host to its next."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What bench_redis and bench_shared have printed."""

    server_us: float
    """The server's CPU for a page, with an append-only file."""
    cpu_ms: float
    """CPU of workers and frontier for a page."""
    url_bytes: float
    """For each URL that is known, for good."""
    kept_bytes: float
    """For each page, for good."""
    body_bytes: float
    """For each page, while its body is kept."""


class ServerCapacity(msgspec.Struct, frozen=True):
    """What one server can do."""

    pages_per_s: float
    bodies_bytes: float
    """What bodies take at full speed."""
    pages: float
    """How many pages fit in the end."""

    @property
    def hours(self) -> float:
        return self.pages / self.pages_per_s / 3600


def capacity(memory_bytes: float, given: Assumptions, found: Measured) -> ServerCapacity:
    """Return what one server with so much memory can do; no pages if bodies alone are too much."""
    pages_per_s = given.load * 1e6 / found.server_us
    bodies = pages_per_s * given.keep_s * found.body_bytes
    for_good = given.urls_per_page * found.url_bytes + found.kept_bytes
    room = max(0.0, memory_bytes * given.usable - bodies)
    return ServerCapacity(pages_per_s, bodies, room / for_good)


def main() -> None:
    """Print the computation."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in Measured.__struct_fields__:
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, required=True)
    given, found = Assumptions(), Measured(**vars(parser.parse_args()))
    print("| memory | pages/s | bodies | pages | hours |\n|---:|---:|---:|---:|---:|")
    for gigabytes in (16, 64, 256, 1024):
        one = capacity(gigabytes * 1e9, given, found)
        print(
            f"| {gigabytes:,} GB | {one.pages_per_s:,.0f} | {one.bodies_bytes / 1e9:.0f} GB "
            f"| {one.pages / 1e6:,.0f} million | {one.hours:.1f} |"
        )
    rate = given.load * 1e6 / found.server_us
    print(f"\nat {rate:,.0f} pages/s:")
    print(f"  {rate * found.cpu_ms / 1e3:.0f} cores for workers and frontiers")
    print(f"  {rate * given.page_bytes * 8 / 1e9:.1f} Gbit/s")
    print(f"  {rate * given.host_delay_s:,.0f} hosts at a time at least")


if __name__ == "__main__":
    main()
