"""A program for a network and a file system of its own: it asks for hosts of a bad name server.

It prints, as JSON, how the requests ended and whether anybody has knocked at the trap.
"""

import asyncio
import fcntl
import json
import socket
import struct
import subprocess
import sys
import tempfile

from tests.web.name_server import NameServer

from gossamer.download.client import Client
from gossamer.download.options import FetchOptions
from gossamer.model import Response, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.testing import Web

SIOCSIFFLAGS, IFF_UP = 0x8914, 1
NAMES = ("unknown", "failing", "circle", "many", "of-1", "of-3-1", "of-1-3", "of-2-3-1")
PATIENT = FetchOptions(connect_timeout_s=20)
QUICK = FetchOptions(connect_timeout_s=1)
SILENT = 60
"""More than libcurl has threads for; it would let all others wait for them."""


def main() -> None:
    """Have a loopback device and a name server, and ask."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH", b"lo", IFF_UP))
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write("nameserver 127.0.0.1\noptions timeout:2 attempts:1\n")
        file.flush()
        subprocess.run(["mount", "--bind", file.name, "/etc/resolv.conf"], check=True)
        NameServer().serve()
        with Web() as web, socket.create_server(("127.0.0.3", web.address[1])) as trap:
            trap.setblocking(False)
            web.site("a.test").page("/")
            json.dump(asyncio.run(ask(web.address[1], trap)), sys.stdout)


async def ask(port: int, trap: socket.socket) -> dict[str, list[object]]:
    """Return how a request for each name ended, and two for the one that changes."""
    policy = AddressPolicy.parse(["127.0.0.1", "127.0.0.2", "127.1.0.0/16"])
    found: dict[str, list[object]] = {}

    async def fetch(name: str, key: str) -> None:
        async with Client(PATIENT, policy) as client:  # which keeps the addresses that it found
            response = await client.fetch(Url(f"http://{name}.test:{port}/"))
        found[key] = told(response)

    for name in NAMES:
        await fetch(name, name)
    async with Client(QUICK, policy) as client:
        silent = [
            asyncio.create_task(client.fetch(Url(f"http://silent.of-{one}.test:{port}/")))
            for one in range(SILENT)
        ]
        await asyncio.sleep(0)  # they are first
        honest = await client.fetch(Url(f"http://of-1.honest.test:{port}/"))
        found["honest beside silent"] = told(honest)
        found["silent"] = told(await silent[0])
        await asyncio.gather(*silent)
    await fetch("rebinding", "rebinding")
    await fetch("rebinding", "rebinding again")
    try:
        trap.accept()[0].close()
        found["trap"] = ["touched"]
    except BlockingIOError:
        found["trap"] = ["untouched"]
    return found


def told(response: Response) -> list[object]:
    """Return what is asserted of a response."""
    return [response.outcome, response.detail]


if __name__ == "__main__":
    main()
