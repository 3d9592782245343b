"""`gossamer demo`: a small crawl that needs no network."""

import asyncio
import tempfile
from pathlib import Path

from gossamer.cli import classic
from gossamer.coordinator import ClassicPlan, ClassicSettings
from gossamer.modules import PageDirectory
from gossamer.policy import AddressPolicy
from gossamer.testing import Web, demo_site
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
