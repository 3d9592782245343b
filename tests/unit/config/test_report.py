import pytest

from gossamer.config import OPTIONS, Option, describe, load, options_markdown


def test_every_option_is_told_with_its_origin() -> None:
    settings = describe(load({"delay": "1500ms", "seeds": ["http://a/"]}, {"GOSSAMER_DEPTH": "2"}))
    told = {setting.name: (setting.value_text, setting.origin) for setting in settings}
    assert list(told) == [option.name for option in OPTIONS]
    assert told["delay"] == ("1.5s", "--delay")
    assert told["seeds"] == ("http://a/", "SEED")
    assert told["depth"] == ("2", "GOSSAMER_DEPTH")
    assert told["max-bytes"] == ("50MB", "default")
    assert told["store"] == ("sqlite:", "default")
    assert told["include"] == ("none", "default")
    assert told["fresh"] == ("false", "default")
    assert settings[0].help == "The URLs to begin with."


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
    assert f"`{option.name}`" in rows[0]
    assert option.kind.show(option.default) in rows[0]
