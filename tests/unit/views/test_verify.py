"""What `verify` finds: nothing in a crawl that nobody touched, and every kind of damage by name."""

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import pytest
import xxhash
from tests.unit.views import reading
from tests.unit.views.reading import in_directory

from gossamer import CrawlError
from gossamer.frontier.claims import Claims
from gossamer.views.verify import Verification

Damage = Callable[[str], None]


def verified(directory: Path) -> Verification:
    return reading.verified(in_directory(directory))


def broken(directory: Path, now: float | None = None) -> dict[str, list[str]]:
    return reading.broken(in_directory(directory), now)


def note(directory: Path, **options: object) -> None:
    """Change what is kept of the options."""
    with closing(sqlite3.connect(directory / "crawl.sqlite")) as db, db:
        (kept,) = db.execute("SELECT value FROM notes WHERE name = 'options'").fetchone()
        changed = msgspec.json.encode({**msgspec.json.decode(kept), **options})
        db.execute("UPDATE notes SET value = ? WHERE name = 'options'", (changed,))


def lease(
    url: int,
    *,
    number: int = 1 << 32,
    worker: int = 0,
    allowed: int = 10,
    claim: bytes | None = None,
) -> str:
    """Return the values of a lease, for a statement."""
    packed = "NULL" if claim is None else f"x'{claim.hex()}'"
    return f"VALUES ({url}, {number}, {worker}, 9.0, {allowed}, 0, 0, {packed})"


def claimed(number: int, *, again: bool = False, duplicate: int | None = None) -> bytes:
    """Return what is stored of a page that has claimed a number."""
    claims = Claims(number - 1, ())
    if again:
        claims.give_again(1, number, bytes(16), None)
    else:
        claims.give(1, bytes(16), None)
    if duplicate is not None:
        claims.refuse(duplicate, number)
    return claims.pack(1) or b""


def refused(number: int) -> bytes:
    """Return what is stored of a page that repeats another one."""
    claims = Claims(0, ())
    claims.refuse(1, number)
    return claims.pack(1) or b""


@pytest.mark.req("B1")
def test_a_crawl_that_nobody_touched_is_sound(directory: Path) -> None:
    found = verified(directory)
    assert [one for one in found.findings if one.broken] == []
    assert (found.sound, found.complete, found.running) == (True, True, False)
    assert (found.urls, found.pages) == (14, 9)
    names = [one.rule for one in found.findings]
    assert len(names) == len(set(names)) == 43


def test_bodies_may_expire(directory: Path, damage: Damage) -> None:
    damage("DELETE FROM contents")
    assert "contents" in broken(directory)
    damage(
        "INSERT INTO notes SELECT 'expired_before', CAST(1 + max(fetched_at) AS BLOB) FROM pages"
    )
    assert broken(directory) == {}


@pytest.mark.req("B1")
@pytest.mark.parametrize(
    ("rule", "words", "script"),
    [
        ("types", "row 2 of urls", "UPDATE urls SET depth = 'deep' WHERE id = 2"),
        ("types", "row 1 of pages", "UPDATE pages SET digest = 'text' WHERE id = 1"),
        (
            "attributes",
            "the attributes of page 2 are damaged: ",
            "UPDATE pages SET attributes = x'93a0' WHERE id = 2",
        ),
        (
            "attributes",
            "the attributes of page 1 are damaged: ",
            "UPDATE pages SET attributes = x'9107' WHERE id = 1",
        ),
        ("values", "/1", "UPDATE urls SET state = 9 WHERE id = 2"),
        ("values", "/1", "UPDATE urls SET outcome = 'eaten' WHERE id = 2"),
        ("values", "/1", "UPDATE urls SET targets = x'00' WHERE id = 2"),
        (
            "values",
            "attempt 1 ended as eaten",
            "UPDATE attempts SET outcome = 'eaten' WHERE url = 1",
        ),
        ("ids", "13 URLs", "DELETE FROM urls WHERE id = 3"),
        ("counters", "that are done", "UPDATE notes SET value = x'90' WHERE name = 'counts'"),
        ("counters", "URLs of depth 7", "UPDATE urls SET depth = 7 WHERE id = 3"),
        ("blocks", "block 0 of URLs does", "UPDATE url_blocks SET columns = x'01'"),
        ("blocks", "block 0 of URLs does", "UPDATE urls SET depth = 7 WHERE id = 3"),
        ("blocks", "block 0 of URLs is missing", "DELETE FROM url_blocks"),
        ("blocks", "block 9 of URLs is of none", "INSERT INTO url_blocks VALUES (9, x'')"),
        ("blocks", "block 0 of pages does", "UPDATE pages SET fetched_at = 7 WHERE id = 3"),
        ("outcome", "a.test/", "UPDATE urls SET outcome = NULL WHERE id = 1"),
        ("outcome", "/missing", "UPDATE urls SET state = 1 WHERE id = 6"),
        ("outcome", "/missing", "UPDATE urls SET finished_at = NULL WHERE id = 6"),
        (
            "rest",
            "/missing",
            "UPDATE urls SET state = 3, outcome = NULL, finished_at = NULL WHERE id = 6",
        ),
        ("score", "a.test/", "UPDATE urls SET score = NULL, queue = NULL WHERE id = 1"),
        ("score", "a.test/", "UPDATE urls SET score = 100.5, queue = 9 WHERE id = 1"),
        ("score", "/deepest", "UPDATE urls SET score = 1.0, queue = 0 WHERE state = 5"),
        ("queue", "is in queue 7", "UPDATE urls SET queue = 7 WHERE id = 1"),
        ("limit", "/deepest at depth 4", "UPDATE urls SET state = 0 WHERE state = 5"),
        ("limit", "/missing at depth 1", "UPDATE urls SET state = 5 WHERE id = 6"),
        ("host", "a.test/", "DELETE FROM hosts"),
        ("host", "/1", "UPDATE urls SET host = 77 WHERE id = 2"),
        ("counts", "a.test has 14 URLs, and counts 13", "UPDATE hosts SET urls = urls - 1"),
        ("counts", "fetched: 9 URLs, and 0 counted", "DELETE FROM notes WHERE name = 'reasons'"),
        ("parent", "/1", "UPDATE urls SET parent = 77 WHERE id = 2"),
        ("parent", "/1", "UPDATE urls SET parent = NULL WHERE id = 2"),
        ("attempts", "a.test/ counts 1", "DELETE FROM attempts WHERE url = 1"),
        ("attempts", "unknown URL", "UPDATE attempts SET url = 77 WHERE url = 1"),
        ("ending", "/missing ended as gone", "UPDATE urls SET outcome = 'gone' WHERE id = 6"),
        (
            "once",
            "a.test/",
            "INSERT INTO attempts SELECT * FROM attempts WHERE url = 1;"
            "UPDATE urls SET attempts = 2 WHERE id = 1",
        ),
        (
            "once",
            "/old",
            "UPDATE urls SET state = 1, outcome = NULL, finished_at = NULL "
            "WHERE outcome = 'redirected'",
        ),
        ("numbers", "page 3 is missing", "DELETE FROM pages WHERE id = 3"),
        ("numbers", "page 1 is missing", "DELETE FROM pages WHERE id = 1"),
        ("fetched", "/1", "DELETE FROM pages WHERE url = 2"),
        ("fetched", "page 2", "UPDATE pages SET url = 1 WHERE id = 2"),
        ("fetched", "page 2", "UPDATE pages SET url = 77 WHERE id = 2"),
        ("fetched", "/1", "UPDATE urls SET page = 1 WHERE id = 2"),
        ("fetched", "/missing", "UPDATE urls SET page = 1 WHERE id = 6"),
        ("results", "/1 has 1 visits, and 0 results", "DELETE FROM results WHERE url = 2"),
        (
            "results",
            "/1 has 1 visits, and 2 results",
            "INSERT INTO results SELECT 77, url, page, settled_at, NULL FROM results WHERE url = 2",
        ),
        ("results", "result 1 of page 77", "UPDATE results SET page = 77 WHERE number = 1"),
        (
            "results",
            "result 77",
            "INSERT INTO results SELECT 77, id, NULL, 0.5, NULL FROM urls WHERE id = 6",
        ),
        ("results", "row of result 77", "INSERT INTO result_rows VALUES (77, x'7B7D')"),
        ("types", "row 1 of results", "UPDATE results SET records = 'x' WHERE number = 1"),
        ("reported", "page 2 at depth 1", "UPDATE pages SET reported_depth = 2 WHERE id = 2"),
        (
            "duplicates",
            "pages 1 and 2",
            "UPDATE pages SET digest = (SELECT digest FROM pages WHERE id = 1) WHERE id = 2",
        ),
        (
            "original",
            "/same repeats page 77",
            "UPDATE urls SET duplicate_of = 77 WHERE outcome = 'duplicate'",
        ),
        (
            "original",
            "/same repeats page (none)",
            "UPDATE urls SET duplicate_of = NULL WHERE outcome = 'duplicate'",
        ),
        ("original", "/missing repeats page", "UPDATE urls SET duplicate_of = 1 WHERE id = 6"),
        (
            "original",
            "/same repeats page",
            "UPDATE urls SET similarity = 0.9, own_similarity = 1.0 WHERE outcome = 'duplicate'",
        ),
        ("original", "/1 repeats page", "UPDATE urls SET own_similarity = 1.0 WHERE id = 2"),
        (
            "sketches",
            "sketch of page 1",
            "INSERT INTO sketches VALUES (1, 0.5, x'', x'', NULL)",
        ),
        ("values", "sketch of page 1", "INSERT INTO sketches VALUES (1, 0.5, x'00', x'', NULL)"),
        ("contents", "page 1", "DELETE FROM contents WHERE page = 1"),
        ("contents", "page 77", "UPDATE contents SET page = 77 WHERE page = 1"),
        ("contents", "page 1", "UPDATE contents SET fetched_at = 0.5 WHERE page = 1"),
        (
            "budgets",
            "9999999 bytes of 1000000",
            "UPDATE notes SET value = '9999999' WHERE name = 'received'",
        ),
        ("bytes", "1 counted", "UPDATE notes SET value = '1' WHERE name = 'bytes'"),
        (
            "filing",
            "/1 is filed under the key",
            "UPDATE urls SET key = zeroblob(16) WHERE id = 2",
        ),
        (
            "filing",
            "/elsewhere is filed under the key",
            "UPDATE urls SET url = 'http://a.test/elsewhere' WHERE id = 2",
        ),
        ("filing", "normal form", "UPDATE urls SET url = 'HTTP://a.test/1' WHERE id = 2"),
        ("filing", "normal form", "UPDATE urls SET url = 'x' WHERE id = 2"),
        ("filing", "the host b.test", "UPDATE hosts SET key = 'b.test'"),
        ("filing", "the domain b.test", "UPDATE hosts SET domain = 'b.test'"),
        (
            "seeds",
            "/missing was found on no page",
            "UPDATE urls SET parent = NULL, depth = 0 WHERE id = 6",
        ),
        (
            "depth",
            "/missing is recorded at depth 2, but is at depth 1",
            "UPDATE urls SET depth = 2 WHERE id = 6",
        ),
        ("path", "/missing is recorded at depth 0", "UPDATE urls SET depth = 0 WHERE id = 6"),
        (
            "depth",
            "a.test/ links to a URL that is missing",
            "UPDATE urls SET targets = x'4D00000000000000' WHERE id = 1",
        ),
        (
            "path",
            "a.test/ does not link to http://a.test/1",
            "UPDATE urls SET targets = x'' WHERE id = 1",
        ),
        (
            "path",
            "was found over itself",
            "UPDATE urls SET parent = 2 WHERE id = 1",
        ),
        (
            "bodies",
            "page 1 is damaged",
            "UPDATE contents SET content = x'00' WHERE page = 1",
        ),
        (
            "bodies",
            "page 1 does not have its recorded size",
            "UPDATE pages SET size = 1 WHERE id = 1",
        ),
        (
            "bodies",
            "page 1 does not match its digest",
            "UPDATE pages SET digest = zeroblob(16) WHERE id = 1",
        ),
        ("notes", "counts: nothing", "DELETE FROM notes WHERE name = 'counts'"),
        ("figures", "damaged", "UPDATE notes SET value = x'C1' WHERE name = 'counts'"),
        ("figures", "damaged", "UPDATE notes SET value = 'many' WHERE name = 'visits'"),
        ("notes", "starts: nothing", "DELETE FROM notes WHERE name = 'starts'"),
        ("notes", "queues: many", "UPDATE notes SET value = 'many' WHERE name = 'queues'"),
        ("notes", "closed: perhaps", "UPDATE notes SET value = 'perhaps' WHERE name = 'closed'"),
        ("notes", "unsure_since: nothing", "DELETE FROM notes WHERE name = 'unsure_since'"),
        (
            "notes",
            "url_queue_peak: 0",
            "UPDATE notes SET value = '0' WHERE name = 'url_queue_peak'",
        ),
        ("notes", "listed: -1", "INSERT OR REPLACE INTO notes VALUES ('listed', '-1')"),
        ("visits", "0 visits counted", "DELETE FROM notes WHERE name = 'visits'"),
        ("bytes", "0 counted", "DELETE FROM notes WHERE name = 'bytes'"),
        ("received", "0 bytes counted", "DELETE FROM notes WHERE name = 'received'"),
        ("received", "of the hosts", "UPDATE hosts SET received = received + 1"),
        ("values", "host a.test", "UPDATE hosts SET failed = requests + 1"),
        ("types", "row 1 of hosts", "UPDATE hosts SET robots_until = 'soon'"),
        (
            "slots",
            "a.test is asked 1 times",
            "UPDATE hosts SET robots_slots = 1, robots_until = 9.0",
        ),
        (
            "counters",
            "domains: the counter says",
            "INSERT INTO domains VALUES ('b.test', 0.0, NULL, 0.0)",
        ),
        ("types", "row b of domains", "INSERT INTO domains VALUES ('b', 'much', NULL, 0.0)"),
        ("values", "domain b", "INSERT INTO domains VALUES ('b', -1.0, NULL, 0.0)"),
        (
            "domains",
            "b.test is served by worker 0",
            "INSERT INTO domains VALUES ('b.test', 0.0, 0, 9.0)",
        ),
        ("rest", "/1", f"INSERT INTO leases {lease(2)}"),
        ("rest", "URL 77", f"INSERT INTO leases {lease(77)}"),
        ("leases", "URL 2 has the lease 7", f"INSERT INTO leases {lease(2, number=7)}"),
        ("leases", "2 URLs have the lease", f"INSERT INTO leases {lease(2)}, {lease(3)[7:]}"),
        ("leases", "by worker -1", f"INSERT INTO leases {lease(2, worker=-1)}"),
        ("budgets", "bytes are reserved", f"INSERT INTO leases {lease(2, allowed=10**7)}"),
        ("claims", "cannot be read", f"INSERT INTO leases {lease(2, claim=b'nonsense')}"),
        (
            "claims",
            "/1 claims the number 2, which another page has",
            f"INSERT INTO leases {lease(2, claim=claimed(2))}",
        ),
        (
            "claims",
            "/1 is visited again as page 3, and is page 2",
            f"INSERT INTO leases {lease(2, claim=claimed(3, again=True))}",
        ),
        (
            "claims",
            "/1 repeats page 99, which nobody has",
            f"INSERT INTO leases {lease(2, claim=refused(99))}",
        ),
        (
            "claims",
            "a URL that is missing repeats",
            f"INSERT INTO leases {lease(2, claim=claimed(99, duplicate=77))}",
        ),
        (
            "relaxing",
            "/1",
            "INSERT INTO relaxing SELECT id, depth, hops, 1000 FROM urls WHERE id = 2",
        ),
        (
            "saved",
            "pages/2 does not name",
            "UPDATE urls SET url = 'http://a.test/elsewhere' WHERE id = 2",
        ),
    ],
)
def test_every_kind_of_damage_is_found_and_named(
    directory: Path, damage: Damage, rule: str, words: str, script: str
) -> None:
    damage(script)
    found = broken(directory)
    assert rule in found
    assert any(words in example for example in found[rule]), found[rule]


def test_a_url_out_of_scope_is_found(directory: Path, damage: Damage) -> None:
    url = "http://b.test/missing"
    damage(
        "INSERT INTO hosts (id, key, domain, delay_s, next_start, failures, urls) "
        "VALUES (2, 'b.test', 'b.test', 0.0, 0.0, 0, 1);"
        "UPDATE hosts SET urls = urls - 1 WHERE id = 1"
    )
    with closing(sqlite3.connect(directory / "crawl.sqlite")) as db, db:
        key = xxhash.xxh3_128_digest(url.encode())
        db.execute("UPDATE urls SET host = 2, url = ?, key = ? WHERE id = 6", (url, key))
    assert broken(directory) == {
        "scope": [f"{url}: scope host: b.test is not one of the seeds' hosts"],
        "counters": ["hosts: the counter says 1, and there are 2"],
        "blocks": ["block 0 of URLs does not have what their rows have"],
    }


@pytest.mark.req("D14")
def test_an_exceeded_budget_is_found(directory: Path) -> None:
    note(directory, max_pages=8)
    assert broken(directory) == {"budgets": ["9 visits of 8"]}


def test_a_missing_seed_is_found(directory: Path) -> None:
    note(directory, seeds=["http://a.test/", "http://a.test/other"])
    assert broken(directory) == {"seeds": ["the seed http://a.test/other is missing"]}


def test_without_its_options_a_crawl_is_held_against_the_other_rules(
    directory: Path, damage: Damage
) -> None:
    damage("DELETE FROM notes WHERE name = 'options'")
    assert broken(directory) == {}
    rules = {one.rule for one in verified(directory).findings}
    assert not rules & {"queue", "limit", "once", "duplicates", "budgets", "scope", "seeds"}
    damage("UPDATE urls SET depth = 3 WHERE id = 2")
    assert set(broken(directory)) >= {"depth", "path"}


@pytest.mark.req("C7")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "is missing"),
        (b"", "does not name http://a.test/ in its first line"),
        (b"http://b.test/\n0\n<p>", "does not name http://a.test/ in its first line"),
        (b"http://a.test/\n1\n<p>", "does not have the depth 0 in its second line"),
        (b"http://a.test/\n0\n<p>", "does not hold what was fetched"),
    ],
)
def test_a_saved_file_that_is_not_of_its_page_is_found(
    directory: Path, content: bytes | None, words: str
) -> None:
    file = directory / "pages" / "1"
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    (complaint,) = broken(directory)["saved"]
    assert complaint.startswith(f"{file} {words}")


def test_a_saved_file_of_no_page_is_found(directory: Path) -> None:
    extra = directory / "pages" / "10"
    extra.write_bytes(b"http://a.test/\n0\n")
    (directory / "pages" / "notes.txt").write_text("mine")
    assert broken(directory) == {"saved": [f"{extra} belongs to no page"]}


def test_many_breaches_are_counted_and_few_are_shown(directory: Path, damage: Damage) -> None:
    damage("UPDATE urls SET key = randomblob(16)")
    (filing,) = [one for one in verified(directory).findings if one.rule == "filing"]
    assert (filing.broken, len(filing.examples)) == (14, 5)


def test_what_has_lost_its_form_is_not_read_any_further(directory: Path, damage: Damage) -> None:
    damage("UPDATE urls SET state = 'nowhere', depth = 'deep', score = x'00', page = 'x'")
    found = verified(directory)
    assert (found.sound, found.complete) == (False, False)
    assert found.findings[-1].rule == "ids"


def test_a_spoilt_file_is_never_taken_for_a_sound_one(directory: Path) -> None:
    path = directory / "crawl.sqlite"
    whole = path.read_bytes()
    for start in range(4096, len(whole), 4096):
        path.write_bytes(whole[:start] + b"\xff" * 4096 + whole[start + 4096 :])
        with suppress(CrawlError):  # it cannot even be read: that is as loud
            assert "file" in broken(directory)
