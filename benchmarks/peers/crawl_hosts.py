"""Crawl the synthetic web with Gossamer: crawl_hosts.py HOST:PORT [--similarity off] [-o FILE]

The others take the server for a proxy. Gossamer judges an address before it asks a proxy for it, so
it is told where the names point; only the Python API has a table of names.
"""

import argparse
import gc

import uvloop
from tests.webs.graph.layout import Layout

import gossamer

HOSTS = 1000


def main() -> None:
    """Crawl into the current folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--similarity", default="0.9")
    parser.add_argument("-o", dest="output", action="append", default=[])
    given = parser.parse_args()
    names = Layout(HOSTS, HOSTS, skew=0).host_names
    gc.set_threshold(20_000, 20, 20)  # as the command has it
    gc.freeze()
    uvloop.run(
        gossamer.crawl(
            f"http://{names[0]}/",
            dns=dict.fromkeys(names, given.address),
            allow_network=["127.0.0.1"],
            dir="crawl",
            scope="any",
            delay="0s",
            host_connections=16,
            connections=16,
            similarity=given.similarity,
            output=given.output,
            max_pages=10**6,
            max_bytes="100GB",
        )
    )


if __name__ == "__main__":
    main()
