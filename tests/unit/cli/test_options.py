"""The options of a crawl as command-line flags."""

import io
from pathlib import Path

import cyclopts
import pytest
from rich.console import Console

from gossamer.cli.parameters import with_options
from gossamer.config import OPTIONS, load
from gossamer.config.sources import Loaded


@pytest.fixture
def app() -> cyclopts.App:
    def crawl(*seeds: str, config: Path | None = None, **given: object) -> Loaded:
        """Crawl the web from the seeds."""
        return load({"seeds": seeds or None, **given}, {"GOSSAMER_DELAY": "2s"}, config)

    app = cyclopts.App(name="gossamer", result_action="return_value", help_format="plaintext")
    app.command(with_options(crawl))
    return app


def run(app: cyclopts.App, *arguments: str) -> Loaded:
    loaded = app(["crawl", *arguments], exit_on_error=False, print_error=False)
    assert isinstance(loaded, Loaded)
    return loaded


def test_only_what_is_given_counts_as_given(app: cyclopts.App) -> None:
    loaded = run(app, "http://a/", "http://b/", "--max-pages", "5", "-v", "--depth=none")
    given = {name: origin for name, origin in loaded.origins.items() if origin != "default"}
    assert given == {
        "seeds": "SEED",
        "max-pages": "--max-pages",
        "verbose": "--verbose",
        "depth": "--depth",
        "delay": "GOSSAMER_DELAY",
    }
    assert loaded.options.seeds == ("http://a/", "http://b/")
    assert (loaded.options.max_pages, loaded.options.verbose) == (5, True)


def test_options_are_repeated_and_switched_off(app: cyclopts.App, tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text("verbose = true\nmodule = ['x']", encoding="utf-8")
    arguments = ["--config", str(file), "--no-verbose", "--module", "save", "--module", "noop"]
    loaded = run(app, "http://a/", *arguments)
    assert loaded.options.module == ("save", "noop")
    assert loaded.origins["verbose"] == "--verbose"
    assert not loaded.options.verbose


def test_the_seeds_may_stand_in_the_file(app: cyclopts.App, tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text("seeds = ['http://a/']", encoding="utf-8")
    assert run(app, "--config", str(file)).options.seeds == ("http://a/",)


def test_the_help_lists_every_option_in_its_group(app: cyclopts.App) -> None:
    page = io.StringIO()
    app.help_print(["crawl"], console=Console(file=page, width=200))
    text = page.getvalue()
    assert "<!-- CONTENT -->" in text
    groups = list(dict.fromkeys(option.group for option in OPTIONS))
    assert (groups[0], groups[-1]) == ("Scope", "Advanced")
    positions = [text.index(f" {group} ─") for group in groups]
    assert positions == sorted(positions)
    for option in OPTIONS:
        if option.name != "seeds" and not option.is_table:
            start = positions[groups.index(option.group)]
            assert text.index(f"{option.flag} ") > start
            assert option.help[:40] in text


def test_an_unknown_flag_is_refused(app: cyclopts.App) -> None:
    with pytest.raises(cyclopts.CycloptsError, match="--delay"):
        run(app, "http://a/", "--delai", "1s")
