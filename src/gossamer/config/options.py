"""The options of a crawl, each declared once, by the groups of the help page.

The command line, the TOML keys, the environment variables and the documentation derive from it. The
help text of an option stands in the docstring of its group.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from gossamer.config import values as kind
from gossamer.config.declaration import declared_options
from gossamer.config.host_rules import HOST_TABLES, HostTables, request_conflicts
from gossamer.config.request_values import HEADER_FIELDS, NAMED_FILE, PROXY, SECRET, SECRET_HEADERS
from gossamer.config.store_address import IN_DIRECTORY, STORE, StoreAddress
from gossamer.config.values import HOUR_S, MANY, AutoDelay, ScopeName, least_delay_s
from gossamer.model.errors import UsageError
from gossamer.model.names import ContentKind, LinkKind

PAGE_FIELDS: Final = (
    *("url", "depth", "status", "title", "language", "fetched_at", "text"),
    *("id", "content_type", "encoding", "content_usage", "bytes", "address", "found_on"),
    *("redirected_from", "main_text", "markdown", "links", "headers", "metadata"),
)
"""All of them; `outputs.rows` says what each holds."""
DEFAULT_FIELDS: Final = PAGE_FIELDS[:7]

Texts: TypeAlias = tuple[str, ...]
LogFormat = Literal["text", "json"]
OnOff = Literal["on", "off"]

FOREVER: Final = "forever"
ANY: Final = "any"
"""Every kind of content."""
KEEP = kind.or_word(kind.duration(1.0, kind.YEAR_S), FOREVER, FOREVER)
ACCEPT_WORDS: Final = (*(kind for kind in ContentKind if kind is not ContentKind.OTHER), ANY)


class OptionConflictError(UsageError):
    """Two options, each valid by itself, exclude each other."""

    def __init__(self, names: tuple[str, ...], sentence: str) -> None:
        super().__init__(sentence)
        self.names = names


@dataclass(frozen=True, kw_only=True)
class ScopeOptions:
    """Where a crawl starts, and which links it follows.

    seeds: The URLs to start from.
    seed_files: Read seeds from this file, or from standard input (-): one URL per line,
        optionally followed by its depth and its score (0 first, 100 last); may be repeated.
    sitemaps: Also crawl what sitemaps list: those that the robots.txt of a host in scope names
        (auto), or the one at this URL; may be repeated.
    profile: A named set of options: classic, focused, web, or one of your own from the TOML
        file; options given beside it win.
    scope: Which links to follow: to the seeds' hosts, to their registered domains with all
        hosts, to URLs under a seed's directory (prefix), or any.
    depth: Follow links up to this far from a seed; 0 fetches the seeds only.
    include: Follow only URLs that match this regular expression; may be repeated, and one match
        is enough. Seeds are fetched in any case.
    exclude: Do not follow URLs that match this regular expression; may be repeated.
    markers: Take links only from between two of these comments, such as `<!-- CONTENT -->`.
    follow: The kinds of links to follow, separated by commas: a, area, frame, iframe, refresh,
        next, prev, alternate, canonical, header, image, media, object, stylesheet, script,
        font. auto: those that lead a reader to another page, and those that lead to the files
        that --accept names.
    accept: The kinds of content to keep, separated by commas: html, text, xml, json, csv, pdf,
        office, image, audio, video, font, css, js, archive, or any. HTML is always kept, as it
        leads to the others; what is neither HTML nor text is kept as it is, and not read.
    """

    seeds: Annotated[Texts, kind.many(kind.text())] = ()
    seed_files: Annotated[Texts, kind.many(kind.text(), "FILE|-")] = ()
    sitemaps: Annotated[Texts, kind.many(kind.text(kind.sitemap), "auto|off|URL")] = ("off",)
    profile: Annotated[str | None, kind.or_none(kind.text())] = None
    scope: Annotated[ScopeName, kind.SCOPE] = "host"
    depth: Annotated[int | None, kind.or_none(kind.DEPTH)] = None
    include: Annotated[Texts, kind.many(kind.text(kind.pattern))] = ()
    exclude: Annotated[Texts, kind.many(kind.text(kind.pattern))] = ()
    markers: Annotated[str | None, kind.or_none(kind.text())] = None
    follow: Annotated[
        Texts | None, kind.or_none(kind.many(kind.choice(*LinkKind), "KINDS", commas=True), "auto")
    ] = None
    accept: Annotated[Texts, kind.many(kind.choice(*ACCEPT_WORDS), "KINDS", commas=True)] = (
        "html",
        "text",
    )


@dataclass(frozen=True, kw_only=True)
class PolitenessOptions:
    """How considerate a crawl is of the hosts it visits.

    delay_s: The pause between two requests to a host; robots.txt or the server may ask for
        more. auto asks a slow or busy host less often and a quick one more often, but leaves at
        least 500ms, or the time after auto: as in auto:2s. Use 0s for your own servers only.
    host_connections: How many requests to a host may run at once; above 1 only with --delay 0s.
    address_connections: How many requests to one IP address may run at once, however many hosts
        it serves; auto means 8, and no limit for an address that you allowed. Never less than
        --host-connections.
    user_agent: The User-Agent to send; auto names Gossamer, its version and the contact.
    contact: A page or mail address where site owners can reach you, sent with every request.
    ignore_robots: Ignore the robots.txt of this host, which must be your own; may be repeated.
    allow_network: Allow requests to this private network, address, address:port or host name;
        may be repeated.
    """

    delay_s: Annotated[float | AutoDelay, kind.DELAY] = 1.0
    host_connections: Annotated[int, kind.HOST_CONNECTIONS] = 1
    address_connections: Annotated[int | None, kind.or_none(kind.integer(1, 1000), "auto")] = None
    user_agent: Annotated[str | None, kind.or_none(kind.text(kind.for_header), "auto")] = None
    contact: Annotated[str | None, kind.or_none(kind.text(kind.for_header))] = None
    ignore_robots: Annotated[Texts, kind.many(kind.text(kind.host_alone), commas=True)] = ()
    allow_network: Annotated[Texts, kind.many(kind.text(), commas=True)] = ()


@dataclass(frozen=True, kw_only=True)
class RequestsOptions:
    """How requests are made, and what they carry.

    cookies: Keep the cookies that pages set, and send them back, as browsers do: one jar for
        the crawl, stored with it. They are never shown, and never sent when asking for
        robots.txt.
    header: A header field to send to the seeds' origins, such as 'X-Team: search'; may be
        repeated. It is stored with the crawl: a secret needs --secret-header.
    secret_header: A header field whose value is a secret, named as for --auth, such as 'X-Api-Key:
        env:SITE_KEY', for the seeds' origins; may be repeated. The value is never stored or shown.
    auth: Log in to the seeds' origins with what is in an environment variable (env:VARIABLE) or a
        file (file:PATH): user:password, or a bearer token. It is never stored, shown, or sent to
        another origin or for robots.txt.
    client_cert: A client certificate (PEM) for the seeds' origins, perhaps with its key in the
        same file.
    client_key: The private key (PEM, not encrypted) of the client certificate.
    ca_file: Certificates (PEM) to trust instead of the system's, for all hosts.
    proxy: A proxy for all hosts: http://HOST:PORT, https://, socks5:// or socks5h://, where the
        proxy looks up names. Proxies are never taken from the environment's http_proxy.
    proxy_auth: Log in to the proxy with the user:password that is in env:VARIABLE or file:PATH.
    http2: Speak HTTP/2 with https servers that offer it.
    host: Rules for single hosts, as tables [host."PATTERN"] of a TOML file.
    """

    cookies: Annotated[bool, kind.SWITCH] = False
    header: Annotated[Texts, HEADER_FIELDS] = ()
    secret_header: Annotated[Texts, SECRET_HEADERS] = ()
    auth: Annotated[str | None, kind.or_none(SECRET)] = None
    client_cert: Annotated[str | None, kind.or_none(NAMED_FILE)] = None
    client_key: Annotated[str | None, kind.or_none(NAMED_FILE)] = None
    ca_file: Annotated[str | None, kind.or_none(NAMED_FILE, "system")] = None
    proxy: Annotated[str | None, kind.or_none(PROXY)] = None
    proxy_auth: Annotated[str | None, kind.or_none(SECRET)] = None
    http2: Annotated[bool, kind.SWITCH] = False
    host: Annotated[HostTables, HOST_TABLES] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LimitsOptions:
    """When a crawl stops, and what it gives up.

    max_pages: Stop after this many pages; with --revisit, each visit of a page counts.
    max_bytes: Stop after this many bytes of answers, counted as they are sent (compressed):
        pages, redirects, errors and robots.txt, whether they are kept or not.
    max_time_s: Stop after this time, and finish what is in progress; gossamer resume continues
        for as long again.
    max_host_pages: Request nothing more from a host after this many pages; a rule for the host
        may set another number.
    max_host_urls: Keep at most this many URLs of a host; further links to it are counted and
        left out.
    traps: Recognise endless URLs that lead to nothing new, such as calendars and mazes: fetch
        them after the other pages of their host, and after a while not at all. off fetches them
        all.
    max_page_bytes: Drop pages that are larger than this when decompressed, without downloading
        the rest.
    max_file_bytes: The same for files of other kinds, if --accept names any.
    timeout_s: The time limit of one request, from connecting to the last byte.
    retries: How often to retry a URL after a failure that may be temporary, such as a timeout
        or a 503; a server that asks us to come back later is asked up to 4 times, unless this
        is 0.
    connections: How many requests may run at once, in total.
    """

    max_pages: Annotated[int, kind.MAX_PAGES] = 10_000
    max_bytes: Annotated[int, kind.MAX_BYTES] = 1_000_000_000
    max_time_s: Annotated[float | None, kind.or_none(kind.duration(0.001, kind.YEAR_S))] = None
    max_host_pages: Annotated[int | None, kind.or_none(kind.MAX_PAGES)] = None
    max_host_urls: Annotated[int, kind.integer(1, MANY)] = 1_000_000
    traps: Annotated[OnOff, kind.choice("on", "off")] = "on"
    max_page_bytes: Annotated[int, kind.size(1, 10**9)] = 10_000_000
    max_file_bytes: Annotated[int, kind.size(1, 10**9)] = 10_000_000
    timeout_s: Annotated[float, kind.duration(0.001, HOUR_S)] = 30.0
    retries: Annotated[int, kind.integer(0, 200)] = 1
    connections: Annotated[int, kind.integer(1, 10_000)] = 100


@dataclass(frozen=True, kw_only=True)
class FrontierOptions:
    """Who does the work, and in which order.

    workers: How many worker processes to run; auto starts one, and more while there is work for
        them, up to the number of cores. With a shared store, 0 leaves the work to workers that
        are started elsewhere.
    scorer: The scorer that decides which URL comes first: a name, package.module:object or
        ./file.py:object; auto chooses by the scope, and by whether there is a PageRank key.
    pagerank_key: The key for the PageRank service; prefer the variable GOSSAMER_PAGERANK_KEY,
        which other users of the machine cannot see. It is not stored: each frontier of a shared
        crawl needs it.
    """

    workers: Annotated[int | None, kind.or_none(kind.integer(0, 1000), "auto")] = None
    scorer: Annotated[str, kind.text()] = "auto"
    pagerank_key: Annotated[str | None, kind.or_none(kind.text(kind.for_header))] = field(
        default=None, repr=False
    )


@dataclass(frozen=True, kw_only=True)
class StorageOptions:
    """Where a crawl is stored, and what is kept of it.

    dir: The directory for the state and the results of the crawl; auto names it after the seed.
    store: Where the state is kept: memory:, sqlite:PATH (without PATH, a file in the
        directory), redis: (a Redis that the crawl starts for itself in the directory) or
        redis://HOST (a server for workers on many machines); prefer the variable GOSSAMER_STORE
        for passwords.
    insecure_store: Accept a store on another machine without a password or TLS.
    name: The name of the crawl in a shared store; auto names it after the seed.
    fresh: Start over: remove the state that an earlier crawl left.
    similarity: Drop pages that are at least this similar to an earlier one, in their whole text
        and in their own content; 1 drops identical content only, and off keeps every page.
    similar_links: What to do with the links of a page that is dropped because it is similar:
        follow or ignore them. Those of identical content are never followed.
    revisit_s: Fetch a URL again when a link to it is found this long after its last visit.
        Pages that link to each other are then visited until a limit ends the crawl.
    keep_s: How long to keep bodies, and what new pages are compared with; auto is forever in a
        file or in memory, and 1h in a shared store.
    bodies: Where to keep bodies: in the store, or in files of a directory that all machines of
        the crawl share, or in an object store (s3://BUCKET/PREFIX), so that a server needs no
        memory for them.
    """

    dir: Annotated[Path | None, kind.or_none(kind.FOLDER, "auto")] = None
    store: Annotated[StoreAddress, STORE] = IN_DIRECTORY
    insecure_store: Annotated[bool, kind.SWITCH] = False
    name: Annotated[str | None, kind.or_none(kind.text(), "auto")] = None
    fresh: Annotated[bool, kind.SWITCH] = False
    similarity: Annotated[float | None, kind.or_none(kind.share(), "off")] = 0.9
    similar_links: Annotated[Literal["follow", "ignore"], kind.choice("follow", "ignore")] = (
        "follow"
    )
    revisit_s: Annotated[float | None, kind.or_none(kind.duration(1.0, kind.YEAR_S), "never")] = (
        None
    )
    keep_s: Annotated[float | Literal["forever"] | None, kind.or_none(KEEP, "auto")] = None
    bodies: Annotated[str, kind.BODY_PLACE] = "store"


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """What is done with pages, and what is shown.

    module: A module that gets each page: a name, package.module:object or ./file.py:object,
        perhaps with options of its own, as in save:folder=html; may be repeated.
    output: Write what comes out of the crawl to this path too, in the format of its ending:
        .jsonl, .jsonl.gz, .jsonl.zst, .csv, .parquet, .warc.gz, .md/ (a directory of Markdown),
        .html/ (a mirror); may be repeated. A table holds the records of the modules, or one row
        per page if there are none.
    fields: Write one row per page with these fields, separated by commas, whatever the modules
        do; by default url,depth,status,title,language,fetched_at,text.
    csv_safe: Put a ' before the cells of a CSV file that a spreadsheet would take for formulas.
    warc_size: Start a new file of a WARC archive before one grows larger than this.
    log_format: Show progress as text for people, or as json for programs: one object per line.
    verbose: Log every step.
    quiet: Show errors only.
    """

    module: Annotated[Texts, kind.many(kind.text())] = ("noop",)
    output: Annotated[Texts, kind.many(kind.text()), "-o"] = ()
    fields: Annotated[Texts, kind.many(kind.choice(*PAGE_FIELDS), "FIELDS", commas=True)] = ()
    csv_safe: Annotated[bool, kind.SWITCH] = False
    warc_size: Annotated[int, kind.size(1, 10**15)] = 1_000_000_000
    log_format: Annotated[LogFormat, kind.choice("text", "json")] = "text"
    verbose: Annotated[bool, kind.SWITCH, "-v"] = False
    quiet: Annotated[bool, kind.SWITCH, "-q"] = False


@dataclass(frozen=True, kw_only=True)
class AdvancedOptions:
    """What few crawls need to change.

    queues: The number of priority queues for the scores from 0 to 100.
    url_queue: While this many URLs wait for their score, no worker begins another page.
    worker_queue: How many URLs may wait for one worker.
    lease_s: How long a worker may be silent before others take over its URLs.
    domain_lease_s: How long a worker keeps a registered domain after its last URL there; then the
        worker with the least to do gets it.
    draw_seed: The seed of the weighted random choice of queues: the same number repeats the
        choices.
    pagerank_url: The URL of the PageRank service, with or without the path of its API; auto
        takes the one that the key is for.
    """

    queues: Annotated[int, kind.integer(1, 101)] = 10
    url_queue: Annotated[int, kind.integer(1, MANY)] = 10_000
    worker_queue: Annotated[int, kind.integer(1, MANY)] = 10_000
    lease_s: Annotated[float, kind.duration(1.0, HOUR_S)] = 30.0
    domain_lease_s: Annotated[float, kind.duration(1.0, HOUR_S)] = 300.0
    draw_seed: Annotated[int, kind.integer(0, 2**63 - 1)] = 0
    pagerank_url: Annotated[str | None, kind.or_none(kind.text(kind.web_address), "auto")] = None


@dataclass(frozen=True, kw_only=True)
class CrawlOptions(
    ScopeOptions,
    PolitenessOptions,
    RequestsOptions,
    LimitsOptions,
    FrontierOptions,
    StorageOptions,
    OutputOptions,
    AdvancedOptions,
):
    """The options of a crawl, checked: a wrong one is a `UsageError` that says how to fix it."""

    def __post_init__(self) -> None:
        for option in OPTIONS:
            object.__setattr__(self, option.field, option.take(getattr(self, option.field)))
        for names, sentence in _conflicts(self):
            raise OptionConflictError(names, sentence)

    @property
    def max_body_bytes(self) -> int:
        """The size of the largest body that is kept: of a page, or of a file if any are."""
        is_pages_only = all(kind.is_page for kind in accepted_kinds(self.accept))
        return (
            self.max_page_bytes if is_pages_only else max(self.max_page_bytes, self.max_file_bytes)
        )


OPTIONS = declared_options(CrawlOptions)
"""The options in the order of the help page."""

RETIRED = {
    "ttl": "--revisit TIME fetches a URL again if a link to it is found after that time, and "
    "--keep TIME says how long bodies are kept"
}
"""Names that options had before, and what takes their place."""


def accepted_kinds(accept: Iterable[str]) -> frozenset[ContentKind]:
    """Return the kinds of content that are kept; HTML is always one of them."""
    words = set(accept)
    if ANY in words:
        return frozenset(ContentKind)
    return frozenset({ContentKind.HTML, *map(ContentKind, words)})


def keep_seconds(keep: float | Literal["forever"] | None, *, shared: bool) -> float:
    """Return for how long bodies are kept; `shared`: the store is, so that auto is an hour."""
    if keep is None:
        return HOUR_S if shared else math.inf
    return math.inf if keep == FOREVER else keep


def _conflicts(options: CrawlOptions) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the names of options that do not go together, and why."""
    if options.host_connections > 1 and least_delay_s(options.delay_s) > 0:
        yield (
            ("host-connections", "delay"),
            f"host-connections {options.host_connections} needs a delay of 0s, because requests "
            "at the same time leave no pause between them: give both for your own servers, or "
            "neither",
        )
    if options.workers == 0 and not options.store.is_shared:
        yield (
            ("workers", "store"),
            "workers 0 leaves the work to workers elsewhere, which needs a shared store: give at "
            "least 1, or a store such as redis://HOST",
        )
    if options.workers is not None and options.connections < options.workers:
        yield (
            ("connections", "workers"),
            f"connections {options.connections} cannot be shared by {options.workers} workers, "
            "each of which needs one: raise connections or lower workers",
        )
    if options.connections < options.host_connections:
        yield (
            ("connections", "host-connections"),
            f"connections {options.connections}, the total, is less than "
            f"host-connections {options.host_connections}: raise the one or lower the other",
        )
    if len(options.sitemaps) > 1 and "off" in options.sitemaps:
        yield (("sitemaps",), "sitemaps off excludes all others: leave it out, or the others")
    if options.seed_files.count("-") > 1:
        yield (("seed-files",), "standard input (-) can be read only once: give it once")
    if options.quiet and options.verbose:
        yield ("quiet", "verbose"), "quiet and verbose exclude each other: choose one"
    yield from request_conflicts(options)
