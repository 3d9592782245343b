"""The declaration is enough for a command line: this is how a command is made of it."""

import io
from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated

import cyclopts
import pytest
from rich.console import Console

from gossamer.config import OPTIONS, Group, Loaded, Option, load


def flag(option: Option) -> Parameter:
    is_switch, is_list = isinstance(option.default, bool), isinstance(option.default, tuple)
    given = bool if is_switch else tuple[str, ...] if is_list else str
    shown = option.show(option.default)
    details = cyclopts.Parameter(
        name=[option.flag, option.alias] if option.alias else option.flag,
        group=cyclopts.Group(option.group, sort_key=list(Group).index(option.group)),
        help=option.help,
        metavar=option.kind.metavar,
        negative=f"--no-{option.name}" if is_switch else "",
        show_default=False if shown in {"none", "false"} else shown,
    )
    name = option.name.replace("-", "_")
    return Parameter(
        name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[given, details]
    )


def with_options(command: Callable[..., Loaded]) -> Callable[..., Loaded]:
    own = [one for one in signature(command).parameters.values() if one.kind != one.VAR_KEYWORD]
    flags = [flag(option) for option in OPTIONS if option.name != "seeds"]
    vars(command)["__signature__"] = Signature([*own, *flags])
    return command


@pytest.fixture
def app() -> cyclopts.App:
    def crawl(*seeds: str, config: Path | None = None, **given: object) -> Loaded:
        """Crawl the web from the seeds."""
        return load({"seeds": seeds or None, **given}, {"GOSSAMER_DELAY": "2s"}, config)

    app = cyclopts.App(name="gossamer", result_action="return_value")
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
    arguments = ["--config", str(file), "--no-verbose", "--module", "save", "--module", "stats"]
    loaded = run(app, "http://a/", *arguments)
    assert loaded.options.module == ("save", "stats")
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
    positions = [text.index(f" {group} ─") for group in Group]
    assert positions == sorted(positions)
    for option in OPTIONS:
        if option.name != "seeds" and not option.is_table:
            start = positions[list(Group).index(option.group)]
            assert text.index(f"{option.flag} ") > start
            assert option.help[:40].replace("`", "") in text


def test_an_unknown_flag_is_refused(app: cyclopts.App) -> None:
    with pytest.raises(cyclopts.CycloptsError, match="--delay"):
        run(app, "http://a/", "--delai", "1s")
