"""The same crawl with Scrapy, as its documentation would have one write it.

A CrawlSpider that follows every link of the host, obeys robots.txt, fetches each page once and
notes its address and title. Nothing slows it down on purpose: no delay, sixteen requests at once
like its rival, quiet logging, no cache of answers. Whatever is not set here is Scrapy's default:
the asyncio reactor, the filter for duplicates, the queue in memory. That queue is lost with the
process. A third argument has it kept on disk (JOBDIR); that is about a tenth slower, so the
comparison does without.

Run by bench_crawl.py in an environment of its own: peer_scrapy.py URL ITEMS.jsonl [JOBDIR]
"""

import sys
from collections.abc import Iterator

from scrapy.crawler import CrawlerProcess  # type: ignore[import-not-found] # not in our own venv
from scrapy.http import HtmlResponse  # type: ignore[import-not-found] # as above
from scrapy.linkextractors import LinkExtractor  # type: ignore[import-not-found] # as above
from scrapy.spiders import CrawlSpider, Rule  # type: ignore[import-not-found] # as above


class DocsSpider(CrawlSpider):  # type: ignore[misc] # its base is unknown here
    name = "docs"
    allowed_domains = ("127.0.0.1",)
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def parse_start_url(self, response: HtmlResponse) -> Iterator[dict[str, str]]:
        return self.parse_page(response)

    def parse_page(self, response: HtmlResponse) -> Iterator[dict[str, str]]:
        yield {"url": response.url, "title": response.css("title::text").get("")}


def main() -> None:
    url, items, *job_directory = sys.argv[1:]
    settings = {
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
        "HTTPCACHE_ENABLED": False,
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
        "FEEDS": {items: {"format": "jsonlines"}},
    }
    if job_directory:
        settings["JOBDIR"] = job_directory[0]
    process = CrawlerProcess(settings)
    process.crawl(DocsSpider, start_urls=[url])
    process.start()


if __name__ == "__main__":
    main()
