"""`gossamer inspect`: what a crawler sees of one page."""

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from typing import Annotated

from cyclopts import Parameter

from gossamer.cli import classic
from gossamer.cli.inspection import PageReport, Report, inspect_url
from gossamer.cli.output import put_found
from gossamer.cli.parameters import Json
from gossamer.config import load
from gossamer.content import AnalysisRules, Markers
from gossamer.errors import ExitCode
from gossamer.model import Outcome
from gossamer.policy import AddressPolicy
from gossamer.policy.link_kinds import HYPERLINKS, kinds_to_follow
from gossamer.policy.media_types import PAGES
from gossamer.urls import Scope, ScopeKind, parse_seed, shown

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
    follow: str | None = None,
    allow_network: Repeated = (),
    contact: str | None = None,
    json: Json = False,
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
    follow
        The kinds of links to show, separated by commas, such as a,iframe,next; by default those
        that a crawl follows.
    allow_network
        A private network, address, address:port or host that may be contacted; may be repeated.
        GOSSAMER_ALLOW_NETWORK is read as well.
    contact
        How site owners can reach you; sent with each request. Default: GOSSAMER_CONTACT.
    """
    seed = parse_seed(url)
    options = load({"follow": follow}, {}).options
    networks = [*allow_network, *classic.listed_networks(os.environ)]
    inspection = inspect_url(
        seed,
        Scope.for_seeds(scope, [seed], include, exclude),
        AddressPolicy.parse(networks).allowing_seed(seed),
        contact=contact or os.environ.get("GOSSAMER_CONTACT") or None,
        rules=AnalysisRules(
            markers=Markers.parse(markers) if markers else None,
            follow=kinds_to_follow(options.follow, PAGES),
        ),
    )
    report = asyncio.run(inspection)
    put_found(report, report_lines, json=json)
    return 0 if report.hops[-1].outcome is Outcome.FETCHED else ExitCode.FAILED


def report_lines(report: Report) -> Iterator[str]:
    """Yield the report for people."""
    for hop in report.hops:
        yield hop.url
        yield f"  robots    {hop.robots}"
        if hop.status is not None:
            answer = f"{hop.status} in {hop.milliseconds} ms from {hop.address}"
            yield f"  answer    {answer}, {hop.content_type or 'no content type'}"
        words = hop.outcome.replace("_", " ")
        yield f"  outcome   {words}{': ' if hop.detail else ''}{hop.detail}"
    if report.page:
        yield from _page_lines(report.page)


def _page_lines(page: PageReport) -> Iterator[str]:
    different = list({(link.url, link.kind): link for link in page.links}.values())
    counts = Counter(link.verdict for link in different)
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    what = f"{page.bytes:,} bytes of {page.kind} in {page.encoding}, {page.words:,} words"
    yield f"  page      {what}"
    yield f"  title     {shown(page.title)}"
    yield f"  links     {len(page.links)}, {len(different)} different: {summary}".rstrip(": ")
    if not page.follow:
        yield "            the page asks for its links not to be followed"
    if page.markers_missing:
        yield "            the page has no content markers, so no link counts"
    for link in different:
        sign = {"in scope": "+", "out of scope": "-"}.get(link.verdict, "?")
        kind = "" if link.kind in HYPERLINKS else f"  [{link.kind}]"
        because = f"  ({link.why})" if sign == "-" else ""
        yield f"    {sign} {link.url if sign != '?' else shown(link.url)}{kind}{because}"
