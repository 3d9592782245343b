"""Serve a folder of pages on loopback, in a process of its own: serve_docs.py FOLDER

Prints its port; answers every line on its standard input with the paths that were asked for since
the last one, as JSON; leaves at the end of the input.
"""

import json
import sys
from pathlib import Path

from gossamer.testing import Web


def main() -> None:
    with Web() as web:
        web.site("127.0.0.1").folder("/", Path(sys.argv[1]))
        print(web.address[1], flush=True)
        for _ in sys.stdin:
            print(json.dumps([record.path for record in web.requests]), flush=True)
            web.clear_requests()


if __name__ == "__main__":
    main()
