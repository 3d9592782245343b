"""What a crawler sees of one page, as a report for people and programs."""

from collections import Counter
from typing import Literal

import msgspec

from gossamer.content import Markers
from gossamer.download import Client, FetchOptions, user_agent
from gossamer.model import Outcome, Url
from gossamer.policy import AddressPolicy, Pacing
from gossamer.urls import Scope, shown
from gossamer.worker import MAX_REDIRECTS, PacedFetch, Visit, Visitor

DELAY_S = 1.0
"""The pause between robots.txt, redirects and the page."""


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """What to look at, and as whom."""

    url: Url
    scope: Scope
    addresses: AddressPolicy
    contact: str | None = None
    markers: Markers | None = None


class Hop(msgspec.Struct, frozen=True, kw_only=True):
    """One URL on the way to the page."""

    url: Url
    robots: str
    outcome: Outcome
    detail: str
    status: int | None
    content_type: str | None
    address: str | None
    milliseconds: int | None


class SeenLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link of the page and what a crawl would do with it."""

    url: str
    verdict: Literal["in scope", "out of scope", "no web address"]
    why: str


class PageReport(msgspec.Struct, frozen=True, kw_only=True):
    """The page itself."""

    bytes: int
    kind: str
    encoding: str
    title: str
    words: int
    follow: bool
    markers_missing: bool
    links: list[SeenLink]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything there is to tell."""

    hops: list[Hop]
    page: PageReport | None


async def inspect_url(inspection: Inspection) -> Report:
    """Follow the URL to its page, as a crawl would, and report each step."""
    options = FetchOptions(user_agent=user_agent(inspection.contact), connections=1)
    async with Client(options, inspection.addresses) as client:
        pacing = Pacing(DELAY_S)
        visitor = Visitor(PacedFetch(client, pacing), pacing, inspection.markers)
        visits = [await visitor.visit(inspection.url)]
        while (target := visits[-1].target) and len(visits) <= MAX_REDIRECTS:
            if not inspection.scope.judge(target):
                break
            visits.append(await visitor.visit(target))
    hops = [_hop(visit) for visit in visits]
    return Report(hops=hops, page=_page(visits[-1], inspection.scope))


def _hop(visit: Visit) -> Hop:
    response = visit.response
    return Hop(
        url=visit.url,
        robots=visit.robots.reason or "no rule is about this URL",
        outcome=visit.outcome,
        detail=f"to {visit.target}" if visit.target else visit.detail,
        status=response.status if response else None,
        content_type=response.headers.get("content-type") if response else None,
        address=response.address if response else None,
        milliseconds=round((response.ended - response.started) * 1000) if response else None,
    )


def _page(visit: Visit, scope: Scope) -> PageReport | None:
    page = visit.page
    if page is None:
        return None
    links = [_seen(link.url, link.href, scope) for link in page.links]
    return PageReport(
        bytes=len(visit.body),
        kind=page.kind.value,
        encoding=page.encoding,
        title=page.title,
        words=len(page.text.split()),
        follow=visit.follow,
        markers_missing=page.markers_missing,
        links=links,
    )


def _seen(url: Url | None, href: str, scope: Scope) -> SeenLink:
    if url is None:
        return SeenLink(url=href, verdict="no web address", why="not an http or https URL")
    verdict = scope.judge(url)
    return SeenLink(
        url=url,
        verdict="in scope" if verdict else "out of scope",
        why=verdict.explain(url),
    )


def render_json(report: Report) -> str:
    """Return the report as one JSON object."""
    return msgspec.json.encode(report).decode()


def render_text(report: Report) -> str:
    """Return the report as aligned lines."""
    lines: list[str] = []
    for hop in report.hops:
        lines += _hop_lines(hop)
    if report.page:
        lines += _page_lines(report.page)
    return "\n".join(lines)


def _hop_lines(hop: Hop) -> list[str]:
    lines = [hop.url, f"  robots    {hop.robots}"]
    if hop.status is not None:
        answer = f"{hop.status} in {hop.milliseconds} ms from {hop.address}"
        lines.append(f"  answer    {answer}, {hop.content_type or 'no content type'}")
    words = hop.outcome.replace("_", " ")
    lines.append(f"  outcome   {words}{': ' if hop.detail else ''}{hop.detail}")
    return lines


def _page_lines(page: PageReport) -> list[str]:
    different = list(dict.fromkeys((link.verdict, link.url, link.why) for link in page.links))
    counts = Counter(verdict for verdict, _, _ in different)
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    lines = [
        f"  page      {page.bytes:,} bytes of {page.kind} in {page.encoding}, {page.words:,} words",
        f"  title     {shown(page.title)}",
        f"  links     {len(page.links)}, {len(different)} different: {summary}".rstrip(": "),
    ]
    if not page.follow:
        lines.append("            the page asks for its links not to be followed")
    if page.markers_missing:
        lines.append("            the page has no content markers, so no link counts")
    for verdict, url, why in different:
        sign = {"in scope": "+", "out of scope": "-"}.get(verdict, "?")
        lines.append(f"    {sign} {url if sign != '?' else shown(url)}")
        if sign == "-":
            lines[-1] += f"  ({why})"
    return lines
