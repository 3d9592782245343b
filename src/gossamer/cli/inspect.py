"""`gossamer inspect`: what a crawler sees of one page."""

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Literal

import msgspec

from gossamer.cli.output import put_record
from gossamer.cli.parameters import Json, with_options
from gossamer.config import load
from gossamer.content.links import PageLink
from gossamer.content.markers import Markers
from gossamer.content.page_parser import PageParser, ParseRules, parse
from gossamer.coordinator.in_process import MemoryCrawl
from gossamer.download.client import Client
from gossamer.download.options import PRODUCT, FetchOptions, user_agent
from gossamer.model import Outcome, Response, Url
from gossamer.model.errors import ExitCode
from gossamer.model.names import LinkKind
from gossamer.modules.runner import ModuleRunner
from gossamer.policy import AddressPolicy, may_follow
from gossamer.policy.content_kinds import HYPERLINKS, PAGES, kinds_to_follow
from gossamer.stores.url_record import UrlRecord
from gossamer.urls import Scope, parse_seed, shown
from gossamer.worker.link_filter import LinkFilter
from gossamer.worker.robots import PoliteRobots

DELAY_S = 1.0
"""The pause between robots.txt, redirects and the page."""


class Hop(msgspec.Struct, frozen=True, kw_only=True):
    """One URL on the way to the page."""

    url: Url
    robots: str
    outcome: Outcome
    detail: str
    status: int | None = None
    content_type: str | None = None
    address: str | None = None
    milliseconds: int | None = None


class SeenLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link of the page and what a crawl would do with it."""

    url: str
    kind: LinkKind
    verdict: Literal["in scope", "out of scope", "no web address"]
    why: str


class PageReport(msgspec.Struct, frozen=True, kw_only=True):
    """What is on the page."""

    bytes: int
    kind: str
    encoding: str
    title: str
    words: int
    follow: bool
    markers_missing: bool
    links: list[SeenLink]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an inspection."""

    hops: list[Hop]
    page: PageReport | None


async def inspect_url(
    url: Url, scope: Scope, addresses: AddressPolicy, *, contact: str | None, rules: ParseRules
) -> Report:
    """Visit the URL and its redirects, no links, and report each step."""
    answers: dict[Url, Response] = {}
    options = FetchOptions(user_agent=user_agent(contact), connections=1)
    # Compared letter by letter: a redirect to another spelling of the same page is a hop as well.
    link_filter = LinkFilter(scope, str, comparing=str)
    crawl = MemoryCrawl(max_depth=0, delay_s=DELAY_S)
    async with Client(options, addresses) as client:
        context = msgspec.structs.replace(
            crawl.context(client, link_filter, ModuleRunner([])),
            on_response=lambda response: answers.update({response.url: response}),
            page_parser=PageParser(rules),
        )
        await crawl.run(url, context)
    visited = [record for record in crawl.records() if record.outcome is not None]
    hops = [_hop(record, answers.get(record.url), context.robots) for record in visited]
    last = hops[-1]
    if last.outcome is Outcome.REDIRECTED:  # to where we had been
        hops[-1] = msgspec.structs.replace(last, detail=f"{last.detail}, in a circle")
    is_page = last.outcome is Outcome.FETCHED
    return Report(hops=hops, page=_page(answers[last.url], scope, rules) if is_page else None)


def _hop(record: UrlRecord, response: Response | None, robots: PoliteRobots) -> Hop:
    assert record.outcome is not None
    hop = Hop(url=record.url, robots=record.detail, outcome=record.outcome, detail=record.detail)
    if response is None:
        return hop  # robots.txt kept us from asking, and the detail says why
    verdict = robots.known(record.url)
    return msgspec.structs.replace(
        hop,
        robots=(verdict and verdict.reason) or "no rule is about this URL",
        status=response.status,
        content_type=response.headers.get("content-type"),
        address=response.address,
        milliseconds=round((response.ended - response.started) * 1000),
    )


def _page(response: Response, scope: Scope, rules: ParseRules) -> PageReport:
    headers = response.headers
    kind = headers.get("content-type")
    page = parse(response.body, url=response.url, content_type=kind, rules=rules, headers=headers)
    return PageReport(
        bytes=len(response.body),
        kind=page.kind.value,
        encoding=page.encoding,
        title=page.title,
        words=len(page.text.split()),
        follow=may_follow(PRODUCT, headers.get_all("x-robots-tag"), page.metas),
        markers_missing=page.markers_missing,
        links=[_seen(link, scope) for link in page.links],
    )


def _seen(link: PageLink, scope: Scope) -> SeenLink:
    url, kind = link.url, link.kind
    if url is None:
        why = "not an http or https URL"
        return SeenLink(url=link.href, kind=kind, verdict="no web address", why=why)
    verdict = scope.judge(url)
    place: Literal["in scope", "out of scope"] = "in scope" if verdict else "out of scope"
    return SeenLink(url=url, kind=kind, verdict=place, why=verdict.explain(url))


SCOPE_OPTIONS = ("scope", "include", "exclude", "markers", "follow", "allow-network", "contact")


@partial(with_options, only=SCOPE_OPTIONS)
def inspect(url: str, /, *, json: Json = False, **flags: object) -> int:
    """Show what a crawler sees of one page: robots, answer, title, links, and why.

    Redirects are followed, each hop past scope, robots.txt and the address guard.

    The variables GOSSAMER_ALLOW_NETWORK and GOSSAMER_CONTACT are read as well.

    Parameters
    ----------
    url
        The page.
    """
    seed = parse_seed(url)
    variables = ("GOSSAMER_ALLOW_NETWORK", "GOSSAMER_CONTACT")
    environment = {name: os.environ[name] for name in variables if name in os.environ}
    options = load(flags, environment).options
    inspection = inspect_url(
        seed,
        Scope.for_seeds(options.scope, [seed], options.include, options.exclude),
        AddressPolicy.parse(options.allow_network).allowing_seed(seed),
        contact=options.contact,
        rules=ParseRules(
            markers=Markers.parse(options.markers) if options.markers else None,
            follow=kinds_to_follow(options.follow, PAGES),
            with_text=True,
        ),
    )
    report = asyncio.run(inspection)
    put_record(report, report_lines, json=json)
    return 0 if report.hops[-1].outcome is Outcome.FETCHED else ExitCode.FAILED


def report_lines(report: Report) -> Iterator[str]:
    """Yield the report for people."""
    for hop in report.hops:
        yield hop.url
        yield f"  robots    {hop.robots}"
        if hop.status is not None:
            answer = f"{hop.status} in {hop.milliseconds} ms from {hop.address}"
            yield f"  answer    {answer}, {hop.content_type or 'no content type'}"
        outcome = hop.outcome.replace("_", " ")
        yield f"  outcome   {outcome}{': ' if hop.detail else ''}{hop.detail}"
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
