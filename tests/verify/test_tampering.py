"""Whatever is changed behind the crawl's back in Redis, `verify` finds it."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from gossamer.model.errors import CrawlError
from gossamer.stores.redis.row_changes import decode_page, decode_url, encode
from gossamer.stores.redis.row_keys import NAMES, member

if TYPE_CHECKING:
    from tests.verify.conftest import CrawlLab

Tampering = Callable[["CrawlLab"], None]

OF_COPIES = {"lead", "watched", "journal", "hold", "wanted", "standby"}
STRINGS = {"format", "commit", "linked", "unscored"}
HASHES = set(NAMES.values()) - OF_COPIES - STRINGS - {"kept", "row-ages"}
UNUSED = {"body-names", "leases", "lost-bodies", "relaxing", "result-rows", "unscored"}
"""Those that may be empty when a crawl was interrupted in order, without outputs or losses."""


def queued(lab: "CrawlLab") -> tuple[int, int, int]:
    """Return a URL in a priority queue, its host and the queue."""
    fields: Any = lab.client.hgetall(lab.keys.urls)
    for packed in fields.values():
        row = decode_url(packed)
        if row.state == 1:
            assert row.queue is not None
            return row.id, row.host, row.queue
    raise AssertionError("nothing waits")


def change_url(lab: "CrawlLab", url_id: int, **values: object) -> None:
    stored: Any = lab.client.hget(lab.keys.urls, str(url_id))
    row = msgspec.structs.replace(decode_url(stored), **values)
    lab.client.hset(lab.keys.urls, str(url_id), encode(row))


def spoil_a_url(lab: "CrawlLab") -> None:
    lab.client.hset(lab.keys.urls, "7", b"\x01nonsense")


def swap_urls(lab: "CrawlLab") -> None:
    one, other = lab.client.hmget(lab.keys.urls, ["7", "8"])
    lab.client.hset(lab.keys.urls, mapping={"7": other or b"", "8": one or b""})


def change_a_depth(lab: "CrawlLab") -> None:
    change_url(lab, 9, depth=7)


def change_an_outcome(lab: "CrawlLab") -> None:
    change_url(lab, 1, outcome="gone")


def give_two_urls_one_key(lab: "CrawlLab") -> None:
    stored: Any = lab.client.hget(lab.keys.urls, "9")
    change_url(lab, 10, key=decode_url(stored).key)


def change_a_number_to_what_no_table_holds(lab: "CrawlLab") -> None:
    change_url(lab, 9, deaths=2**63)


def swap_known(lab: "CrawlLab") -> None:
    (name, url_id), (other, other_id), *_ = lab.client.hgetall(lab.keys.known).items()
    lab.client.hset(lab.keys.known, mapping={name: other_id, other: url_id})


def change_a_body(lab: "CrawlLab") -> None:
    other: Any = lab.client.hget(lab.keys.contents, "4")
    lab.client.hset(lab.keys.contents, "3", other)


def change_a_digest(lab: "CrawlLab") -> None:
    stored: Any = lab.client.hget(lab.keys.pages, "3")
    row = msgspec.structs.replace(decode_page(stored), digest=bytes(16))
    lab.client.hset(lab.keys.pages, "3", encode(row))


def damage_what_is_carried_of_a_page(lab: "CrawlLab") -> None:
    stored: Any = lab.client.hget(lab.keys.pages, "3")
    row = msgspec.structs.replace(decode_page(stored), attributes=b"\x93\xa0")
    lab.client.hset(lab.keys.pages, "3", encode(row))


def change_an_age(lab: "CrawlLab") -> None:
    lab.client.zincrby(lab.keys.kept, 1.0, member(3))


def forget_an_age(lab: "CrawlLab") -> None:
    lab.client.zrem(lab.keys.kept, member(3))


def add_an_age(lab: "CrawlLab") -> None:
    lab.client.zadd(lab.keys.kept, {member(999): 1.0})


def add_an_age_of_a_row(lab: "CrawlLab") -> None:
    lab.client.zadd(lab.keys.row_ages, {member(1): 1.0})


def add_a_row_without_age(lab: "CrawlLab") -> None:
    lab.client.hset(lab.keys.result_rows, "1", b"row")


def add_a_row_of_nothing(lab: "CrawlLab") -> None:
    lab.client.hset(lab.keys.result_rows, "9999", b"row")


def queue_twice(lab: "CrawlLab") -> None:
    url_id, host, queue = queued(lab)
    lab.client.zadd(lab.keys.queued(host, queue + 1), {member(url_id): 50.0})


def queue_the_finished(lab: "CrawlLab") -> None:
    lab.client.zadd(lab.keys.queued(1, 0), {member(1): 50.0})


def queue_what_is_unknown(lab: "CrawlLab") -> None:
    lab.client.zadd(lab.keys.queued(1, 0), {member(9999): 50.0})


def queue_what_is_no_url(lab: "CrawlLab") -> None:
    lab.client.zadd(lab.keys.queued(1, 0), {b"x": 50.0})


def queue_nowhere(lab: "CrawlLab") -> None:
    url_id, host, queue = queued(lab)
    lab.client.zrem(lab.keys.queued(host, queue), member(url_id))


def queue_at_another_host(lab: "CrawlLab") -> None:
    url_id, host, queue = queued(lab)
    queue_nowhere(lab)
    lab.client.zadd(lab.keys.queued(host % 8 + 1, queue), {member(url_id): 50.0})


def queue_at_another_place(lab: "CrawlLab") -> None:
    url_id, host, queue = queued(lab)
    lab.client.zincrby(lab.keys.queued(host, queue), 1.0, member(url_id))


def miscount_urls(lab: "CrawlLab") -> None:
    lab.client.hincrby(lab.keys.numbers, "url", 1)


def miscount_results(lab: "CrawlLab") -> None:
    lab.client.hincrby(lab.keys.numbers, "result", -1)


def miscount_urls_of_a_host(lab: "CrawlLab") -> None:
    lab.client.hincrby(lab.keys.host_urls, "2", 1)


def miscount_pages(lab: "CrawlLab") -> None:
    lab.client.hset(lab.keys.metadata, "visits", b"3")


def spoil_the_counters(lab: "CrawlLab") -> None:
    lab.client.hset(lab.keys.metadata, "counts", b"\xc1")


def lease_the_finished(lab: "CrawlLab") -> None:
    lease = encode((1, 1 << 32, 0, 9.0, 10, False, False, None))
    lab.client.hset(lab.keys.leases, "1", lease)


def lease_what_is_unknown(lab: "CrawlLab") -> None:
    lab.client.hset(lab.keys.leases, "nobody", b"")


def set_a_bit_of_links(lab: "CrawlLab") -> None:
    lab.client.setbit(lab.keys.linked, 9999, 1)


def clear_a_bit_of_links(lab: "CrawlLab") -> None:
    lab.client.setbit(lab.keys.linked, 1, 0)


def set_a_bit_of_the_unscored(lab: "CrawlLab") -> None:
    lab.client.setbit(lab.keys.unscored, 1, 1)


def spoil_the_bands_of_a_page(lab: "CrawlLab") -> None:
    lab.client.hset(lab.keys.bands, "3", b"short")


def change_a_key(lab: "CrawlLab") -> None:
    lab.client.setrange(lab.keys.url_keys(0), 16 * 5, b"x")


def change_a_digest_in_passing(lab: "CrawlLab") -> None:
    lab.client.setrange(lab.keys.page_digests(0), 16 * 3, b"x")


def add_a_string_of_keys(lab: "CrawlLab") -> None:
    lab.client.set(lab.keys.url_keys(1), b"x")


def spoil_a_block_of_urls(lab: "CrawlLab") -> None:
    packed: Any = lab.client.hget(lab.keys.url_blocks, "0")
    lab.client.hset(lab.keys.url_blocks, "0", packed[:-1] + b"x")


def add_a_block_of_pages(lab: "CrawlLab") -> None:
    packed: Any = lab.client.hget(lab.keys.page_blocks, "0")
    lab.client.hset(lab.keys.page_blocks, "77", packed)


def write_something_else(lab: "CrawlLab") -> None:
    lab.client.set(lab.keys.prefix + b"something", b"else")


def write_no_number_of_a_commit(lab: "CrawlLab") -> None:
    lab.client.set(lab.keys.commit, b"what")


@pytest.mark.req("D13", "D14")
@pytest.mark.parametrize(
    ("tamper", "rule"),
    [
        (spoil_a_url, "ids"),
        (swap_urls, "ids"),
        (change_a_depth, "depth"),
        (change_an_outcome, "ending"),
        (give_two_urls_one_key, "store"),
        (change_a_number_to_what_no_table_holds, "store"),
        (swap_known, "store"),
        (change_a_body, "bodies"),
        (change_a_digest, "bodies"),
        (damage_what_is_carried_of_a_page, "attributes"),
        (change_an_age, "contents"),
        (forget_an_age, "store"),
        (add_an_age, "store"),
        (add_an_age_of_a_row, "store"),
        (add_a_row_without_age, "store"),
        (add_a_row_of_nothing, "store"),
        (queue_twice, "store"),
        (queue_the_finished, "store"),
        (queue_what_is_unknown, "store"),
        (queue_what_is_no_url, "store"),
        (queue_nowhere, "store"),
        (queue_at_another_host, "store"),
        (queue_at_another_place, "store"),
        (miscount_urls, "store"),
        (miscount_results, "results"),
        (miscount_urls_of_a_host, "counts"),
        (miscount_pages, "visits"),
        (spoil_the_counters, "figures"),
        (lease_the_finished, "rest"),
        (lease_what_is_unknown, "store"),
        (set_a_bit_of_links, "store"),
        (clear_a_bit_of_links, "store"),
        (set_a_bit_of_the_unscored, "store"),
        (spoil_the_bands_of_a_page, "store"),
        (change_a_key, "store"),
        (change_a_digest_in_passing, "store"),
        (add_a_string_of_keys, "store"),
        (spoil_a_block_of_urls, "blocks"),
        (add_a_block_of_pages, "store"),
        (write_something_else, "store"),
        (write_no_number_of_a_commit, "store"),
    ],
    ids=lambda one: one.__name__ if callable(one) else one,
)
def test_it_is_found(lab: "CrawlLab", tamper: Tampering, rule: str) -> None:
    asyncio.run(lab.crawl(40))
    tamper(lab)
    assert rule in lab.broken()


def test_any_field_or_key_that_is_missing_is_found(lab: "CrawlLab") -> None:
    asyncio.run(lab.crawl(40))
    assert lab.broken() == {}
    seen = set()
    for key in sorted(lab.client.scan_iter(match=lab.keys.prefix + b"*")):
        name = key.removeprefix(lab.keys.prefix).decode()
        if name in OF_COPIES:
            continue
        seen.add(name)
        for lose in _losses(lab, key, name):
            stored: Any = lab.client.dump(key)
            lose()
            try:
                assert lab.broken(), name
            except CrawlError:
                assert name == "format"
            finally:
                lab.client.restore(key, 0, stored, replace=True)
    assert seen >= (HASHES | STRINGS | {"kept"}) - UNUSED
    assert lab.broken() == {}


def _losses(lab: "CrawlLab", key: bytes, name: str) -> list[Callable[[], object]]:
    """Return what loses the key, and some of its fields, each of them if there are few."""
    if name == "unscored" and not lab.client.bitcount(key):  # none waits for its score
        return []
    losses: list[Callable[[], object]] = [lambda: lab.client.delete(key)]
    if name in HASHES:
        fields = sorted(lab.client.hkeys(key))
        some = {fields[0], fields[len(fields) // 2], fields[-1]}
        if name in {"numbers", "metadata"}:
            some |= {*fields}
        # The options were not always stored, and the busiest hosts are only shown.
        for field in sorted(some - {b"options", b"busy-hosts"}):
            losses.append(partial(lab.client.hdel, key, field))
    elif name not in STRINGS and not name.startswith(("url-keys:", "page-digests:")):
        first: Any = lab.client.zrange(key, 0, 0)[0]
        losses.append(lambda: lab.client.zrem(key, first))
    return losses
