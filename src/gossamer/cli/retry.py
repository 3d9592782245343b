"""`gossamer retry`: the command that tries failed URLs again."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from gossamer.cli.continuing import UNCHANGEABLE, CrawlDir, options_of
from gossamer.cli.crawling import crawl_with
from gossamer.cli.options import with_options
from gossamer.cli.outcomes import parse_outcome
from gossamer.cli.parameters import option
from gossamer.errors import UsageError
from gossamer.frontier.retrying import RetryRequest
from gossamer.model import Outcome
from gossamer.policy.failures import FAILED, MAY_PASS
from gossamer.urls import host_key, parse_seed


@partial(with_options, unchangeable=UNCHANGEABLE)
def retry(
    directory: CrawlDir = None,
    /,
    *,
    outcome: Annotated[
        tuple[str, ...],
        option(
            "--outcome",
            "Retry URLs with this outcome, such as not_found; may be repeated. Any outcome without "
            "a page can be named; 'gossamer status' counts them.",
        ),
    ] = (),
    host: Annotated[
        tuple[str, ...], option("--host", "Only URLs of this host; may be repeated.")
    ] = (),
    config: Path | None = None,
    **given: object,
) -> int:
    """Retry failed URLs of a crawl, and continue it as `gossamer resume` does.

    By default these are the URLs that may succeed another time: timeouts, connections and name
    lookups that failed, server errors, and what was given up. Each gets one more attempt, or more
    if --retries allows more in total. Hosts that were given up are asked again.

    Parameters
    ----------
    config
        A TOML file of options; options given here override it, and so do variables GOSSAMER_….
    """
    request = RetryRequest(
        outcomes=frozenset(map(_outcome, _split(outcome))) or MAY_PASS,
        hosts=frozenset(host_key(parse_seed(f"http://{name}/", "host")) for name in _split(host)),
    )
    return crawl_with(options_of(directory, given, config), request)


def _split(values: Sequence[str]) -> list[str]:
    return [one.strip() for value in values for one in value.split(",")]


def _outcome(name: str) -> Outcome:
    """Return the outcome of that name; one with a page is refused."""
    outcome = parse_outcome(name, FAILED)
    if outcome not in FAILED:
        raise UsageError(
            f"what was {outcome} has not failed, and is not tried again: name an outcome without a "
            f"page, such as {Outcome.TIMED_OUT}"
        )
    return outcome
