"""How a delay is written: a fixed one, or auto with or without its floor."""

import msgspec
import pytest

from gossamer import UsageError
from gossamer.config import OPTIONS, CrawlOptions
from gossamer.config.values import AutoDelay
from gossamer.coordinator.plan import frontier_rules
from gossamer.coordinator.resume import pack_options, unpack_options

DELAY = next(option for option in OPTIONS if option.name == "delay")
SEEDS = ("http://a.test/",)


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("1s", 1.0, "1s"),
        ("0s", 0.0, "0s"),
        ("auto", AutoDelay(0.5), "auto:500ms"),
        (" auto:2s ", AutoDelay(2.0), "auto:2s"),
        (AutoDelay(3.0), AutoDelay(3.0), "auto:3s"),
        (2, 2.0, "2s"),
    ],
)
def test_what_is_taken_and_shown(text: object, value: object, shown: str) -> None:
    assert DELAY.take(text) == value
    assert DELAY.show(value) == shown
    assert DELAY.take(shown) == value


@pytest.mark.parametrize("text", ["auto:", "auto:0s", "auto 2s", "automatic", "auto:25h", {}])
def test_what_is_refused(text: object) -> None:
    with pytest.raises(UsageError, match=r"^delay "):
        DELAY.take(text)


def test_the_refusal_says_how_it_is_written() -> None:
    with pytest.raises(UsageError, match=r"such as 500ms, 2s, 5m, or auto$"):
        DELAY.take("slowly")


@pytest.mark.parametrize("delay", [2.0, AutoDelay(0.25)])
def test_it_is_stored_with_the_crawl(delay: float | AutoDelay) -> None:
    options = CrawlOptions(seeds=SEEDS, delay_s=delay)
    assert unpack_options(pack_options(options), CrawlOptions()).delay_s == delay
    rules = frontier_rules(options, strict=False).scheduler
    assert rules.auto_delay is isinstance(delay, AutoDelay)
    assert rules.delay_s == (2.0 if delay == 2.0 else 0.25)
    assert msgspec.json.decode(pack_options(CrawlOptions(seeds=SEEDS)))["delay_s"] == 1.0


def test_several_requests_at_once_leave_no_pause() -> None:
    with pytest.raises(UsageError, match="needs a delay of 0s"):
        CrawlOptions(seeds=SEEDS, delay_s=AutoDelay(), host_connections=2)
