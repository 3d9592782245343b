"""The options of a crawl as keyword arguments in Python, typed for whoever writes the call.

A type checker cannot derive them from `CrawlOptions`: `tests/unit/config/test_keywords.py` sees to
it that both declare the same options, and that what is typed here is accepted there.
"""

from pathlib import Path
from typing import Literal, TypeAlias, TypedDict

from gossamer.config.host_table import HostTables
from gossamer.config.options import LogFormat, OnOff, SimilarLinks
from gossamer.config.store_address import StoreAddress
from gossamer.config.values import ScopeName

Texts: TypeAlias = str | list[str] | tuple[str, ...]
"""Several values; in one text, spaces separate them."""
Paths: TypeAlias = Texts | Path | list[Path]
"""Files; in one text, spaces separate them, so give one with a space in its name as a `Path`."""
Duration: TypeAlias = float | str
"""Seconds, or a text such as 500ms, 2s, 5m."""
Size: TypeAlias = int | str
"""Bytes, or a text such as 500kB, 50MB, 64KiB."""


class CrawlKeywords(TypedDict, total=False):
    """The options of `gossamer crawl` with underscores; docs/configuration.md explains each.

    The seeds are the positional arguments, and `module` is an argument of its own.
    """

    seed_files: Paths
    sitemaps: Texts
    profile: str | None
    scope: ScopeName
    depth: int | None
    include: Texts
    exclude: Texts
    markers: str | None
    follow: Texts | None
    accept: Texts

    delay: Duration
    host_connections: int
    address_connections: int | None
    user_agent: str | None
    contact: str | None
    ignore_robots: Texts
    allow_network: Texts

    cookies: bool
    header: Texts
    header_env: Texts
    auth_env: str | None
    auth_file: str | Path | None
    client_cert: str | Path | None
    client_key: str | Path | None
    ca_file: str | Path | None
    proxy: str | None
    proxy_auth_env: str | None
    proxy_auth_file: str | Path | None
    http2: bool
    host: HostTables

    max_pages: int
    max_bytes: Size
    max_time: Duration | None
    max_host_pages: int | None
    max_host_urls: int
    traps: OnOff
    max_page_bytes: Size
    max_file_bytes: Size
    timeout: Duration
    retries: int
    connections: int

    workers: int | Literal["auto"] | None
    scorer: str
    pagerank_key: str | None

    dir: str | Path | None
    store: str | StoreAddress
    insecure_store: bool
    name: str | None
    fresh: bool
    similarity: float | Literal["off"]
    similar_links: SimilarLinks
    revisit: Duration | Literal["never"] | None
    keep: Duration | Literal["forever", "auto"] | None
    bodies: str | Path

    output: Paths
    fields: Texts
    csv_safe: bool
    warc_size: Size
    log_format: LogFormat
    verbose: bool
    quiet: bool

    queues: int
    url_queue: int
    worker_queue: int
    lease: Duration
    draw_seed: int
    pagerank_url: str | None
