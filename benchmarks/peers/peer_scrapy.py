"""The same crawl with Scrapy: peer_scrapy.py documented|hand-made URL ITEMS.jsonl

`documented` is a CrawlSpider with a LinkExtractor, as Scrapy's documentation would have one write
it. `hand-made` takes the links out with one expression and joins them itself, each once. Both obey
robots.txt, fetch each page once and note its address and title. Nothing slows them down on purpose:
no delay, sixteen requests at once, quiet logging, no cache. What is not set is Scrapy's default.
"""

import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

from scrapy import Request, Spider  # type: ignore[import-not-found] # not in our own venv
from scrapy.crawler import CrawlerProcess  # type: ignore[import-not-found] # as above
from scrapy.http import HtmlResponse  # type: ignore[import-not-found] # as above
from scrapy.linkextractors import LinkExtractor  # type: ignore[import-not-found] # as above
from scrapy.spiders import CrawlSpider, Rule  # type: ignore[import-not-found] # as above


def item(response: HtmlResponse) -> dict[str, str]:
    return {"url": response.url, "title": response.css("title::text").get("")}


class DocumentedSpider(CrawlSpider):  # type: ignore[misc] # its base is unknown here
    name = "documented"
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def parse_start_url(self, response: HtmlResponse) -> Iterator[dict[str, str]]:
        return self.parse_page(response)

    def parse_page(self, response: HtmlResponse) -> Iterator[dict[str, str]]:
        yield item(response)


class HandMadeSpider(Spider):  # type: ignore[misc] # as above
    name = "hand-made"

    def __init__(self, prefix: str, **given: object) -> None:
        super().__init__(**given)
        self.prefix = prefix
        self.seen = set(self.start_urls)

    def parse(self, response: HtmlResponse) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            return
        yield item(response)
        for href in set(response.xpath("//a/@href").getall()):
            url = urljoin(response.url, href).partition("#")[0]
            if url not in self.seen and url.startswith(self.prefix):
                self.seen.add(url)
                yield Request(url, dont_filter=True)


def main() -> None:
    kind, url, items = sys.argv[1:]
    host = urlsplit(url).hostname or ""
    is_synthetic = host.endswith(".test")
    process = CrawlerProcess(
        {
            "ROBOTSTXT_OBEY": True,
            "CONCURRENT_REQUESTS": 16,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
            "DOWNLOAD_DELAY": 0,
            "HTTPCACHE_ENABLED": False,
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
            "FEEDS": {items: {"format": "jsonlines"}},
        }
    )
    if kind == "documented":
        domains = ["test"] if is_synthetic else [host]
        process.crawl(DocumentedSpider, start_urls=[url], allowed_domains=domains)
    else:
        prefix = "http://h" if is_synthetic else urljoin(url, "/")
        process.crawl(HandMadeSpider, start_urls=[url], prefix=prefix)
    process.start()


if __name__ == "__main__":
    main()
