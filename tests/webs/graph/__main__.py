"""Serve a web: `python -m tests.webs.graph '{"hosts": 10, "pages": 200}'`.

Prints where it listens; answers every line on its standard input with a report of the traffic so
far, and exits at the end of the input (Ctrl-D).
"""

import signal
import sys
import time

import msgspec
from tests.webs.graph.web import GraphWeb

from gossamer.model.errors import UsageError
from gossamer.testing.traffic import traffic_of
from gossamer.testing.web import Web


def main() -> int:
    """Serve until the input ends."""
    # Ctrl-C is for the parent process, which may still want a report.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    description = sys.argv[1] if len(sys.argv) > 1 else "{}"
    try:
        graph = msgspec.json.decode(description, type=GraphWeb)
    except (msgspec.DecodeError, UsageError) as error:
        print(f"This is not a description of a web: {error}", file=sys.stderr)
        return 2
    with Web() as web:
        graph.describe(web)
        _print({"port": web.address[1]})
        for _ in sys.stdin:
            _print(traffic_of(web.requests, time.monotonic()))
    return 0


def _print(record: object) -> None:
    print(msgspec.json.encode(record).decode(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
