import pytest

from gossamer.config import OPTIONS, Option, load
from gossamer.config.report import describe, options_markdown


def test_every_option_is_listed_with_its_origin() -> None:
    settings = describe(load({"delay": "1500ms", "seeds": ["http://a/"]}, {"GOSSAMER_DEPTH": "2"}))
    listed = {setting.name: (setting.value_text, setting.origin) for setting in settings}
    assert list(listed) == [option.name for option in OPTIONS]
    assert listed["delay"] == ("1.5s", "--delay")
    assert listed["seeds"] == ("http://a/", "SEED")
    assert listed["depth"] == ("2", "GOSSAMER_DEPTH")
    assert listed["max-bytes"] == ("1GB", "default")
    assert listed["store"] == ("sqlite:", "default")
    assert listed["include"] == ("none", "default")
    assert listed["fresh"] == ("false", "default")
    assert settings[0].help == "The URLs to start from."


@pytest.mark.parametrize(("key", "shown"), [("hush", "********"), ("", "none")])
def test_the_key_is_masked(key: str, shown: str) -> None:
    settings = describe(load({}, {"GOSSAMER_PAGERANK_KEY": key}))
    assert [one.value_text for one in settings if one.name == "pagerank-key"] == [shown]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_the_table_has_a_row_for_every_option(option: Option) -> None:
    rows = [line for line in options_markdown().splitlines() if f"`{option.variable}`" in line]
    assert len(rows) == 1
    cells = rows[0].replace(r"\|", "").strip("|").split("|")
    assert len(cells) == 5
    assert "TOML only" in rows[0] if option.is_table else f"`{option.name}`" in rows[0]
    assert option.kind.show(option.default) in rows[0]
