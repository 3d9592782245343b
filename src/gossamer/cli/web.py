"""`gossamer web`: a simulated web to try crawls and modules on, honest or hostile."""

import asyncio
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

from gossamer.cli import classic
from gossamer.cli.output import put_lines, put_table
from gossamer.cli.parameters import option
from gossamer.coordinator.classic import ClassicPlan, ClassicSettings
from gossamer.model.errors import UsageError
from gossamer.modules.page_directory import PageDirectory
from gossamer.policy import AddressPolicy
from gossamer.testing import Web, demo_site
from gossamer.testing.certificates import CertificateAuthority
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
        plan = ClassicPlan(seed=seed, prefix=seed, max_depth=classic.read_depth(str(depth)))
        settings = ClassicSettings(addresses=AddressPolicy().allowing_seed(seed))
        return asyncio.run(classic.crawl(plan, settings, PageDirectory(folder, fresh=True)))


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
    write_ca: Annotated[
        Path | None,
        option(
            "--write-ca",
            "Serve https too, and write the certificate to trust to this file; needs trustme.",
        ),
    ] = None,
    list_faults: Annotated[bool, option("--list-faults", "List the faults, and exit.")] = False,
) -> int:
    """Serve a simulated web on this machine until Ctrl-C: hosts of all sizes, with faults.

    Hosts are called h0.localhost, h1.localhost …; a host named after a fault has that fault.
    """
    if list_faults:
        put_table([["fault", "what its server does"], *_fault_rows()])
        return 0
    if not 0 <= port < 65_536:
        raise UsageError(f"port {port} (--port) must be from 0 to 65535")
    authority = None if write_ca is None else _authority()
    shares = _shares(fault, with_certificates=authority is not None)
    simulated = SimulatedWeb(seed=seed, hosts=hosts, pages=pages, faults=shares, domain="localhost")
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        with simulated.serve(port, authority) as served:
            if served.certificates and write_ca:
                served.certificates.write_authority(write_ca)
            put_lines(_instructions(served, write_ca))
            ended.wait()
            asked = served.requests
            put_lines([f"{asked.total()} requests to {len(asked)} hosts"])
    except OSError as error:
        what = f"write {write_ca}" if error.filename else f"listen on port {port}"
        raise UsageError(f"cannot {what}: {error.strerror}") from error
    return 0


def _authority() -> Callable[[], CertificateAuthority]:
    """Return what makes certificates, where there is something that can."""
    try:
        import trustme  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            "certificates (--write-ca) are made by trustme: pip install trustme"
        ) from error
    return trustme.CA


def _fault_rows() -> Iterator[list[str]]:
    for family, faults in FAMILIES.items():
        yield ["", f"-- {family}"]
        yield from ([fault.name, fault.summary] for fault in faults)


def _shares(texts: Sequence[str], *, with_certificates: bool) -> dict[str, float]:
    """Return the share of the hosts that have each fault; 0 stands for one host of its name."""
    shares: dict[str, float] = {}
    for text in texts:
        name, has_share, number = text.partition("=")
        names = [name]
        if name == "all":
            known = FAULTS.values()
            names = [
                fault.name for fault in known if with_certificates or not fault.needs_certificates
            ]
        try:
            share = float(number) if has_share else 0.0
        except ValueError as error:
            raise UsageError(
                f"fault {text!r} (--fault) needs a share from 0 to 1, such as {name}=0.1"
            ) from error
        shares.update(dict.fromkeys(names, share / len(names)))
    return shares


def _instructions(served: ServedWeb, ca_file: Path | None) -> list[str]:
    port = served.port
    crawl = f"gossamer crawl {served.home()} --scope any --delay 0s"
    if ca_file is not None:
        crawl += f" --ca-file {ca_file} --http2"
    return [
        f"{served.web.hosts} hosts at {served.home()} and so on; Ctrl-C ends it. Crawl them with:",
        f"  {crawl} --allow-network 127.0.0.1:{port} --allow-network '[::1]:{port}'",
    ]
