from pathlib import Path

import pytest

from gossamer.config import CrawlOptions, load
from gossamer.config.sources import SHIPPED
from gossamer.model.errors import UsageError

OWN = """
profile = "slow"
timeout = "9s"

[profiles.slow]
delay = "5s"
timeout = "2m"
max_pages = 7

[profiles.web]
scope = "domain"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "crawl.toml"
    path.write_text(OWN, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_profile_sets_its_options_and_no_others(name: str) -> None:
    loaded = load({"profile": name}, {})
    for option, origin in loaded.origins.items():
        assert (origin == f"profile {name}") == (option in SHIPPED[name]), option


def test_the_profile_of_the_whole_web_is_as_specified() -> None:
    options = load({"profile": "web"}, {}).options
    assert (options.scope, options.scorer, options.max_pages) == ("any", "auto", 10_000)
    assert (options.max_bytes, options.max_page_bytes) == (50_000_000, 500_000)
    assert (options.url_queue, options.worker_queue) == (10_000, 10_000)
    assert (options.similarity, options.similar_links, options.retries) == (0.9, "ignore", 1)
    assert (options.revisit_s, options.keep_s) == (3600, 3600)


def test_whatever_else_is_given_wins(file: Path) -> None:
    loaded = load({"delay": "3s"}, {"GOSSAMER_MAX_PAGES": "5"}, file)
    options, origins = loaded.options, loaded.origins
    assert (options.delay_s, options.max_pages, options.timeout_s) == (3.0, 5, 9.0)
    assert (origins["delay"], origins["max-pages"]) == ("--delay", "GOSSAMER_MAX_PAGES")
    assert origins["timeout"].endswith("crawl.toml, line 3")


def test_ones_own_profile_comes_from_the_file(file: Path) -> None:
    loaded = load({}, {}, file)
    assert (loaded.options.delay_s, loaded.options.max_pages) == (5.0, 7)
    assert loaded.origins["delay"] == "profile slow"
    own = load({"profile": "web"}, {}, file).options
    assert (own.scope, own.max_bytes) == ("domain", CrawlOptions().max_bytes)


@pytest.mark.parametrize(
    ("text", "profile", "words"),
    [
        ("", "wbe", "profile 'wbe' (--profile) is unknown: there are classic, focused, web"),
        ("[profiles.a]\ndelai = '1s'", "a", "key 'delai' (profile a)"),
        ("[profiles.a]\ndelay = 'x'", "a", "(profile a)"),
        ("[profiles.a]\nprofile = 'web'", "a", "names another profile"),
        ("[profiles.b]\ndelai = '1s'", "web", "(profile b) is unknown: the nearest valid"),
        ("[profiles.b]\ndelay = 'x'", None, "(profile b)"),
        ("profiles = 3", "a", "must hold tables of options"),
        ("[profiles]\na = 3", "a", "must hold tables of options"),
    ],
)
def test_a_wrong_profile_is_refused(file: Path, text: str, profile: str | None, words: str) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load({"profile": profile}, {}, file)
    assert words in str(caught.value)
