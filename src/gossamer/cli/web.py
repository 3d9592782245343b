"""`gossamer web`: a simulated web to try crawls and modules on, honest or hostile."""

import asyncio
import signal
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from gossamer.cli import classic
from gossamer.cli.output import put_lines, put_table
from gossamer.cli.parameters import option
from gossamer.coordinator.in_process import ClassicPlan
from gossamer.model.errors import UsageError
from gossamer.modules.page_directory import PageDirectory
from gossamer.policy import AddressPolicy
from gossamer.testing import Web, demo_site
from gossamer.testing.simulator import FAMILIES, FAULTS, ServedWeb, SimulatedWeb
from gossamer.urls import parse_seed


def demo(*, depth: int = 10) -> int:
    """Crawl a small site that Gossamer serves itself: no network, about twenty seconds.

    Parameters
    ----------
    depth
        How many links away from the first page to go.

    """
    folder = Path(tempfile.mkdtemp(prefix="gossamer-demo-"))
    with Web() as web:
        seed = parse_seed(demo_site(web))
        print(f"A site of a few pages at {seed}; one second between two requests.", flush=True)
        addresses = AddressPolicy().allowing_seed(seed)
        plan = ClassicPlan(seed, seed, classic.read_depth(str(depth)), addresses)
        return asyncio.run(classic.crawl(plan, PageDirectory(folder, fresh=True)))


def web(
    *,
    hosts: Annotated[int, option("--hosts", "How many hosts to serve.")] = 100,
    pages: Annotated[
        int, option("--pages", "How many pages the largest host has; the others have fewer.")
    ] = 100,
    seed: Annotated[int, option("--seed", "The same number makes the same web.")] = 1,
    fault: Annotated[
        tuple[str, ...],
        option(
            "--fault",
            "Have one host with this fault, linked from the first, or with NAME=SHARE this share "
            "of the hosts; all is every fault; may be repeated.",
        ),
    ] = (),
    port: Annotated[int, option("--port", "The port to listen on; by default a free one.")] = 0,
    list_faults: Annotated[bool, option("--list-faults", "List the faults, and exit.")] = False,
) -> int:
    """Serve a simulated web on this machine until Ctrl-C: hosts of all sizes, with faults.

    Hosts are called h0.localhost, h1.localhost …; a host named after a fault has that fault.
    """
    if list_faults:
        rows = [["fault", "what its server does"]]
        for family, faults in FAMILIES.items():
            rows += [["", f"-- {family}"], *([fault.name, fault.summary] for fault in faults)]
        put_table(rows)
        return 0
    if not 0 <= port < 65_536:
        raise UsageError(f"port {port} (--port) must be from 0 to 65535")
    simulated = SimulatedWeb(
        seed=seed, hosts=hosts, pages=pages, faults=_shares(fault), domain="localhost"
    )
    ended = threading.Event()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, lambda *_: ended.set())
    try:
        with simulated.serve(port) as served:
            put_lines(_instructions(served))
            ended.wait()
            requests = served.requests
            put_lines([f"{requests.total()} requests to {len(requests)} hosts"])
    except OSError as error:
        raise UsageError(f"cannot listen on port {port}: {error.strerror}") from error
    return 0


def _shares(faults: Sequence[str]) -> dict[str, float]:
    """Return the share of the hosts that have each fault; 0 stands for one host of its name."""
    shares: dict[str, float] = {}
    for text in faults:
        name, has_share, number = text.partition("=")
        names = list(FAULTS) if name == "all" else [name]
        try:
            share = float(number) if has_share else 0.0
        except ValueError as error:
            raise UsageError(
                f"fault {text!r} (--fault) needs a share from 0 to 1, such as {name}=0.1"
            ) from error
        shares.update(dict.fromkeys(names, share / len(names)))
    return shares


def _instructions(served: ServedWeb) -> list[str]:
    port = served.port
    return [
        f"{served.web.hosts} hosts at {served.home()} and so on; Ctrl-C ends it. Crawl them with:",
        f"  gossamer crawl {served.home()} --scope any --delay 0s"
        f" --allow-network 127.0.0.1:{port} --allow-network '[::1]:{port}'",
    ]
