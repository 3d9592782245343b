"""`gossamer inspect`: what a crawler sees of one page."""

import asyncio
import os
from typing import Annotated

from cyclopts import Parameter

from gossamer.cli import classic
from gossamer.cli.inspection import Inspection, inspect_url, render_json, render_text
from gossamer.content import Markers
from gossamer.model import Outcome
from gossamer.policy import AddressPolicy
from gossamer.urls import Scope, ScopeKind, parse_seed

EXIT_FAILED = 1

Repeated = Annotated[tuple[str, ...], Parameter(negative="", show_default=False)]
"""An option that may be given several times."""


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
