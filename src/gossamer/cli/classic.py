"""`crawler seedURL pageDirectory maxDepth`: the classic crawler's command."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from gossamer.coordinator.in_process import ClassicCrawl, ClassicPlan
from gossamer.display import printable, progress_line
from gossamer.display.formatting import counted
from gossamer.model import Event, Outcome
from gossamer.model.errors import CrawlError, ExitCode, UsageError
from gossamer.modules.page_directory import PageDirectory
from gossamer.policy import AddressPolicy
from gossamer.urls import Scope, merge_slashes, parse_seed

USAGE = "usage: crawler seedURL pageDirectory maxDepth"
HELP = f"""\
{USAGE}

Save every internal page within maxDepth links of seedURL as the files pageDirectory/1, 2, 3 …: the
URL, the depth, then the page. At least one second passes between two fetches, and robots.txt is
obeyed. A page that says nofollow, in a robots meta tag or in its X-Robots-Tag header, is saved, and
its links are not followed.

  seedURL        where to begin; must be internal
  pageDirectory  an existing, writable directory without numbered files
  maxDepth       how many links away from the seed to go, 0 to 10

Environment:
  CRAWLER_INTERNAL        the prefix of internal URLs ({{internal}})
  CRAWLER_FIRST_ID        the number of the first file, 0 or 1 (1)
  GOSSAMER_ALLOW_NETWORK  private addresses that may be contacted, such as 10.0.0.0/8 (none)
  GOSSAMER_CONTACT        how site owners can reach you, sent with every request

Exit: 0 the crawl ended, 1 it failed or the seed has no page, 2 wrong use, 130 interrupted.
"""
DEFAULT_INTERNAL = "http://cs50tse.cs.dartmouth.edu/tse/"
MAX_DEPTH = 10


def run() -> None:
    """Run the command with the arguments and environment of the process."""
    sys.exit(main(sys.argv[1:], os.environ))


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the command and return its exit code; every failure is one line on standard error."""
    if list(arguments) in (["-h"], ["--help"]):
        sys.stdout.write(HELP.format(internal=DEFAULT_INTERNAL))
        return 0
    try:
        plan = read_plan(arguments, environment)
        pages = PageDirectory(Path(arguments[1]), first_id=read_first_id(environment), fresh=True)
        return asyncio.run(crawl(plan, pages))
    except UsageError as error:
        return end(str(error), ExitCode.WRONG_USE)
    except CrawlError as error:
        return end(str(error), ExitCode.FAILED)
    except MemoryError:
        return end("out of memory; the files written so far are whole", ExitCode.FAILED)
    except BrokenPipeError:
        # Whoever read the progress is gone; keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return end(
            "standard output was closed; the files written so far are whole", ExitCode.FAILED
        )


def end(sentence: str, code: int) -> int:
    """Say how it ended, in one line, and return the exit code."""
    print(f"crawler: {printable(sentence, None)}", file=sys.stderr)
    return code


def read_plan(arguments: Sequence[str], environment: Mapping[str, str]) -> ClassicPlan:
    """Return the plan; UsageError says which one is wrong and how to fix it."""
    if len(arguments) != 3:
        raise UsageError(f"three arguments are needed, not {len(arguments)}; {USAGE}")
    seed_text, _, depth_text = arguments
    prefix_text = environment.get("CRAWLER_INTERNAL") or DEFAULT_INTERNAL
    prefix = merge_slashes(parse_seed(prefix_text, "prefix in CRAWLER_INTERNAL"))
    seed = merge_slashes(parse_seed(seed_text))
    if not Scope.for_prefix(prefix).judge(seed):
        raise UsageError(
            f"seedURL {seed} is not internal: it does not begin with {prefix}; "
            "set CRAWLER_INTERNAL to crawl another site"
        )
    networks = environment.get("GOSSAMER_ALLOW_NETWORK", "").replace(",", " ").split()
    return ClassicPlan(
        seed=seed,
        prefix=prefix,
        max_depth=read_depth(depth_text),
        addresses=AddressPolicy.parse(networks).allowing_seed(seed),
        contact=environment.get("GOSSAMER_CONTACT", ""),
    )


def read_depth(text: str) -> int:
    """Return the depth."""
    if text.isascii() and text.isdigit() and int(text[-20:]) <= MAX_DEPTH and len(text) <= 20:
        return int(text)
    raise UsageError(f"maxDepth must be an integer from 0 to {MAX_DEPTH}, not {ascii(text)[:40]}")


def read_first_id(environment: Mapping[str, str]) -> int:
    """Return the number of the first file."""
    text = environment.get("CRAWLER_FIRST_ID") or "1"
    if text not in {"0", "1"}:
        raise UsageError(f"CRAWLER_FIRST_ID must be 0 or 1, not {ascii(text)[:40]}")
    return int(text)


async def crawl(plan: ClassicPlan, pages: PageDirectory) -> int:
    """Crawl until the end or a signal, and say how far it got."""
    classic = ClassicCrawl(plan, pages, show)
    crawling = asyncio.ensure_future(classic.run())
    stop_at_signals(crawling)
    try:
        await crawling
    except asyncio.CancelledError:
        left = f"{classic.waiting} URLs were still to visit; the files are whole"
        return end(f"interrupted: {summary(classic, pages)}, {left}", ExitCode.INTERRUPTED)
    return end(summary(classic, pages), ExitCode.DONE)


def show(event: Event) -> None:
    """Print one line of progress at once, also into a pipe."""
    print(progress_line(event), flush=True)


def stop_at_signals(crawling: asyncio.Future[None]) -> None:
    """End the crawl at the first signal; the next one has its ordinary, abrupt effect."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def stop() -> None:
        for number in signals:
            loop.remove_signal_handler(number)
        crawling.cancel()

    for number in signals:
        loop.add_signal_handler(number, stop)


def summary(classic: ClassicCrawl, pages: PageDirectory) -> str:
    """Return, in words, how many pages were saved and how the other URLs ended."""
    others = [
        f"{count} {outcome.replace('_', ' ')}"
        for outcome, count in sorted(classic.outcomes.items())
        if outcome is not Outcome.FETCHED
    ]
    rest = f" ({', '.join(others)})" if others else ""
    return f"{counted(pages.count, 'page')} saved in {pages.path}{rest}"
