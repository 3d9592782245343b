"""`gossamer`: the command, its subcommands, and how they fail."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated, NoReturn

from cyclopts import App, CycloptsError, Parameter

import gossamer
from gossamer.cli import classic
from gossamer.cli.crawl import crawl
from gossamer.cli.inspection import Inspection, inspect_url, render_json, render_text
from gossamer.content import Markers
from gossamer.control import ClassicPlan, ClassicSettings
from gossamer.errors import GossamerError, UsageError
from gossamer.model import Outcome
from gossamer.modules import PageDirectory
from gossamer.policy import AddressPolicy
from gossamer.testing import Web, demo_site
from gossamer.urls import Scope, ScopeKind, parse_seed

EXIT_FAILED, EXIT_WRONG_USE = 1, 2

Repeated = Annotated[tuple[str, ...], Parameter(negative="", show_default=False)]
"""An option that may be given several times."""


def run() -> NoReturn:
    """Run the command with the arguments of the process; every failure is one line."""
    try:
        code = make_app()(
            sys.argv[1:], exit_on_error=False, print_error=False, result_action="return_value"
        )
    except CycloptsError as error:
        fail(f"{' '.join(str(error).split())} See 'gossamer --help'.", EXIT_WRONG_USE)
    except UsageError as error:
        fail(str(error), EXIT_WRONG_USE)
    except GossamerError as error:
        fail(str(error), EXIT_FAILED)
    except KeyboardInterrupt:
        fail("interrupted", classic.EXIT_INTERRUPTED)
    sys.exit(code)


def fail(sentence: str, code: int) -> NoReturn:
    """Say what went wrong, in one line, and end."""
    print(f"gossamer: {sentence}", file=sys.stderr)
    sys.exit(code)


def make_app() -> App:
    """Return the command line."""
    app = App(
        name="gossamer",
        help="A polite web crawler. The classic one is `crawler seedURL pageDirectory maxDepth`.",
        version=gossamer.__version__,
        help_format="plaintext",
    )
    app.command(crawl)
    app.command(demo)
    app.command(inspect)
    return app


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
        return asyncio.run(classic.crawl(plan, settings, PageDirectory(folder)))


def inspect(
    url: str,
    /,
    *,
    scope: ScopeKind = "host",
    include: Repeated = (),
    exclude: Repeated = (),
    markers: str | None = None,
    allow_network: Repeated = (),
    contact: str | None = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Show what a crawler sees of one page: robots, answer, title, links, and why.

    Redirects are followed, each hop past scope, robots.txt and the address guard.

    Parameters
    ----------
    url
        The page.
    scope
        Which links a crawl from here would follow.
    include
        A regular expression that links must match; may be repeated.
    exclude
        A regular expression that links must not match; may be repeated.
    markers
        Take links only from between two of these comments, such as '<!-- CONTENT -->'.
    allow_network
        A private network, address, address:port or host that may be contacted; may be repeated.
        GOSSAMER_ALLOW_NETWORK is read as well.
    contact
        How site owners can reach you; sent with each request. Default: GOSSAMER_CONTACT.
    json
        Print one JSON object.

    """
    seed = parse_seed(url)
    networks = [*allow_network, *classic.listed_networks(os.environ)]
    inspection = Inspection(
        url=seed,
        scope=Scope.for_seeds(scope, [seed], include, exclude),
        addresses=AddressPolicy.parse(networks).allowing_seed(seed),
        contact=contact or os.environ.get("GOSSAMER_CONTACT") or None,
        markers=Markers.parse(markers) if markers else None,
    )
    report = asyncio.run(inspect_url(inspection))
    print(render_json(report) if json else render_text(report))
    return 0 if report.hops[-1].outcome is Outcome.FETCHED else EXIT_FAILED
