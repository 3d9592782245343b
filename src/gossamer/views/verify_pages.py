"""The checks of pages and of what is in progress: bodies, saved files, counters, claims."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import xxhash

from gossamer.config import CrawlOptions
from gossamer.download.body import CodingError
from gossamer.frontier.claims import HeldClaim, Refusal, read_claim
from gossamer.model.page import unpack_attributes
from gossamer.modules.page_directory import FOLDER, page_number, saved_folders
from gossamer.stores.bodies import read_content
from gossamer.stores.columns import wrong_blocks
from gossamer.stores.counting import wrong_counts
from gossamer.stores.rows import ReadableRows
from gossamer.views.verify_rules import PAGE_RULES, PROGRESS_RULES, Check, Facts


class StoredPage(NamedTuple):
    """A page as stored."""

    id: int
    url: str
    depth: int
    reported_depth: int
    """The depth that was reported to the modules."""
    size: int
    digest: bytes
    is_last_version: bool
    """Whether it is the last version that the modules can have seen: none was fetched since."""


_BODIES = "SELECT page, size, digest, content FROM contents JOIN pages ON pages.id = page"
_PAGES = """
    SELECT pages.id, urls.url, depth, reported_depth, size, digest,
           state = 4 AND outcome = 'fetched'
    FROM pages JOIN urls ON urls.id = pages.url ORDER BY pages.id
"""


def page_checks(
    tables: sqlite3.Connection, facts: Facts, read: Callable[[bytes], bytes]
) -> Iterator[Check]:
    """Yield the checks of what is stored; `read` follows references to bodies."""
    for rule in PAGE_RULES:
        yield from rule.check(tables, facts)
    promise = "what is carried of every page can be read"
    yield "attributes", promise, _spoilt_attributes(tables)
    promise = "every stored body is the one that was fetched"
    yield "bodies", promise, _spoilt_bodies(tables, read)


def _spoilt_attributes(tables: sqlite3.Connection) -> Iterator[str]:
    for page_id, packed in tables.execute("SELECT id, attributes FROM pages ORDER BY id"):
        try:
            unpack_attributes(packed)
        except msgspec.DecodeError as error:
            yield f"the attributes of page {page_id} are damaged: {error}"


def _spoilt_bodies(tables: sqlite3.Connection, read: Callable[[bytes], bytes]) -> Iterator[str]:
    for page_id, size, digest, stored in tables.execute(_BODIES):
        try:
            content = read_content(read(stored))
            body = content.body() if content.size == size else b""
            content.exchange()
        except CodingError as error:
            yield f"the body of page {page_id} is damaged: {error}"
            continue
        if content.size != size:
            yield f"the body of page {page_id} does not have its recorded size"
        elif xxhash.xxh3_128_digest(body) != digest:
            yield f"the body of page {page_id} does not match its digest"


def saved_page_checks(
    tables: sqlite3.Connection, directory: Path, options: CrawlOptions | None, *, at_rest: bool
) -> Iterator[Check]:
    """Yield a check of each directory in which pages were saved."""
    saving = saved_folders(options.module) if options is not None else []
    for folder in saving or [FOLDER]:
        if saving or (directory / folder).is_dir():
            wrong = _wrong_files(tables, directory / folder, bool(saving), at_rest)
            yield "saved", "every saved file holds its page", wrong


def _wrong_files(
    tables: sqlite3.Connection, folder: Path, is_complete: bool, at_rest: bool
) -> Iterator[str]:
    """Yield what is wrong with the numbered files of the module `save`.

    `is_complete`: every page must have its file. `at_rest`: the crawl was closed, so no page is
    about to be kept, and no depth to be corrected.
    """
    last = 0
    for page in map(StoredPage._make, tables.execute(_PAGES)):
        last = page.id
        yield from _wrong_file(folder / str(page.id), page, is_complete, at_rest)
    if at_rest and folder.is_dir():
        numbers = [page_number(file.name) for file in folder.iterdir()]
        for number in sorted(number for number in numbers if number is not None):
            if not 1 <= number <= last:
                yield f"{folder / str(number)} belongs to no page"


def _wrong_file(file: Path, page: StoredPage, is_complete: bool, at_rest: bool) -> Iterator[str]:
    try:
        url, depth, body = [*file.read_bytes().split(b"\n", 2), b"", b""][:3]
    except FileNotFoundError:
        if is_complete:
            yield f"{file} is missing"
        return
    except OSError as error:
        yield f"{file} cannot be read: {error.strerror}"
        return
    if url != page.url.encode():
        yield f"{file} does not name {page.url} in its first line"
    elif not page.is_last_version:
        return  # a later one was saved, and then not settled: its worker died
    elif at_rest and depth not in (b"%d" % page.depth, b"%d" % page.reported_depth):
        yield f"{file} does not have the depth {page.depth} in its second line"
    elif len(body) != page.size or xxhash.xxh3_128_digest(body) != page.digest:
        yield f"{file} does not hold what was fetched"


class ClaimedUrl(NamedTuple):
    """A URL in progress with what is stored of its claim."""

    url: str
    page: int | None
    """The page that it has already, if it is visited again."""
    claim: bytes


_CLAIMED = """
    SELECT urls.url, page, claim FROM leases JOIN urls ON urls.id = leases.url
    WHERE claim IS NOT NULL ORDER BY urls.id
"""


def progress_checks(
    tables: sqlite3.Connection, rows: ReadableRows, facts: Facts
) -> Iterator[Check]:
    """Yield the checks of what is in progress."""

    def number_of(value: bytes | str | None) -> float | None:
        try:
            return None if value is None else float(value)
        except ValueError:
            return None

    tables.create_function("number_of", 1, number_of, deterministic=True)
    for rule in PROGRESS_RULES:
        yield from rule.check(tables, facts)
    promise = "the stored counters are those of the URLs, pages and hosts"
    yield "counters", promise, wrong_counts(rows)
    promise = "what is loaded of URLs and pages in blocks is what their rows say"
    yield "blocks", promise, wrong_blocks(rows)
    promise = "pages in progress claim numbers that no other page has"
    yield "claims", promise, _wrong_claims(tables)


def _wrong_claims(tables: sqlite3.Connection) -> Iterator[str]:
    claims: list[tuple[ClaimedUrl, HeldClaim]] = []
    refusals: list[tuple[ClaimedUrl, Refusal]] = []
    for claimed in map(ClaimedUrl._make, tables.execute(_CLAIMED)):
        try:
            claim, refusal = read_claim(claimed.claim)
        except msgspec.MsgspecError as error:
            yield f"the claim of {claimed.url} cannot be read: {error}"
            continue
        if claim is not None:
            claims.append((claimed, claim))
        if refusal is not None:
            refusals.append((claimed, refusal))
    yield from _wrong_numbers(tables, claims)
    taken = {claim.number for _, claim in claims if not claim.again}
    for claimed, refusal in refusals:
        original = refusal.duplicate_of
        if not refusal.void and original not in taken and not _is_page(tables, original):
            yield f"{claimed.url} repeats page {original}, which nobody has"


def _wrong_numbers(
    tables: sqlite3.Connection, claims: Sequence[tuple[ClaimedUrl, HeldClaim]]
) -> Iterator[str]:
    (last_url,) = tables.execute("SELECT count(*) FROM urls").fetchone()
    taken: set[int] = set()
    for claimed, claim in claims:
        url, number = claimed.url, claim.number
        if claim.again and number != claimed.page:
            yield f"{url} is visited again as page {number}, and is page {claimed.page}"
        elif not claim.again and (number in taken or _is_page(tables, number)):
            yield f"{url} claims the number {number}, which another page has"
        elif number < 1 or len(claim.digest) != xxhash.xxh3_128().digest_size:
            yield f"{url} claims the number {number} for a content of no digest"
        elif any(not 1 <= url_id <= last_url for url_id in claim.duplicates):
            yield f"a URL that is missing repeats {url}"
        if not claim.again:
            taken.add(number)


def _is_page(tables: sqlite3.Connection, number: int) -> bool:
    return tables.execute("SELECT 1 FROM pages WHERE id = ?", (number,)).fetchone() is not None
