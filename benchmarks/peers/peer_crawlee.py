"""The same crawl with Crawlee: peer_crawlee.py documented|hand-made URL ITEMS.jsonl PROXY

`documented` calls enqueue_links on every page. `hand-made` takes the links out with one expression
and joins them itself, each once. Both are a ParselCrawler with sixteen requests at once, without
scaling up to that bit by bit, and its storage in memory, which is its fastest. PROXY may be `none`.
"""

import asyncio
import json
import logging
import sys
from datetime import timedelta
from urllib.parse import urljoin, urlsplit

from crawlee import ConcurrencySettings  # type: ignore[import-not-found] # not in our own venv
from crawlee.crawlers import (  # type: ignore[import-not-found] # as above
    ParselCrawler,
    ParselCrawlingContext,
)
from crawlee.proxy_configuration import (  # type: ignore[import-not-found] # as above
    ProxyConfiguration,
)
from crawlee.storage_clients import MemoryStorageClient  # type: ignore[import-not-found] # as above


async def main() -> None:
    kind, start, items, proxy = sys.argv[1:]
    is_synthetic = (urlsplit(start).hostname or "").endswith(".test")
    prefix = "http://h" if is_synthetic else urljoin(start, "/")
    crawler = ParselCrawler(
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(
            min_concurrency=16, max_concurrency=16, desired_concurrency=16
        ),
        proxy_configuration=None if proxy == "none" else ProxyConfiguration(proxy_urls=[proxy]),
        respect_robots_txt_file=True,
        configure_logging=False,
        statistics_log_format="inline",
        request_handler_timeout=timedelta(seconds=60),
    )
    logging.getLogger().setLevel(logging.ERROR)
    seen = {start}
    with open(items, "w", encoding="utf-8") as file:  # noqa: PTH123, ASYNC230 -- as any user would

        @crawler.router.default_handler  # type: ignore[untyped-decorator] # unknown here
        async def visit(context: ParselCrawlingContext) -> None:
            title = context.selector.css("title::text").get("")
            print(json.dumps({"url": context.request.url, "title": title}), file=file)
            if kind == "documented":
                await context.enqueue_links(strategy="all" if is_synthetic else "same-hostname")
                return
            new = []
            for href in set(context.selector.xpath("//a/@href").getall()):
                url = urljoin(context.request.url, href).partition("#")[0]
                if url not in seen and url.startswith(prefix):
                    seen.add(url)
                    new.append(url)
            if new:
                await context.add_requests(new)

        await crawler.run([start])


if __name__ == "__main__":
    asyncio.run(main())
