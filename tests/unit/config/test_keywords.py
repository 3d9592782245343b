"""The options as keyword arguments: typed as they are declared, so that the two cannot drift."""

import asyncio
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

import gossamer
from gossamer import CrawlKeywords, UsageError
from gossamer.config import OPTIONS, AutoDelay, CrawlOptions, Option, StoreAddress
from gossamer.config.host_table import HostTables

HINTS = get_type_hints(CrawlKeywords)
KEYWORDS = {
    option.name.replace("-", "_"): option
    for option in OPTIONS
    if option.name not in {"seeds", "module"}
}
ARRIVES = {"TIME": {float, str}, "SIZE": {int, str}}
"""For the kinds with a unit: what a value may be."""


def alternatives(hint: object) -> set[object]:
    """Return the members of a union, and the words of a literal one by one."""
    if get_origin(hint) in {Union, UnionType}:
        return {one for part in get_args(hint) for one in alternatives(part)}
    return set(get_args(hint)) if get_origin(hint) is Literal else {hint}


def examples(kind: object, option: Option) -> list[object]:
    """Return values of a type, of which at least one must be accepted."""
    shown = option.show(option.default)
    samples: dict[object, list[object]] = {
        NoneType: [None],
        bool: [True, False],
        int: [1, 1000],
        float: [0.5, 1.0],
        str: [shown, "a.test", "http://a.test/", "1s", "1kB", "A_VARIABLE", "http://a.test:1"],
        list[str]: [
            ["a.test"],
            ["url"],
            ["a"],
            ["html"],
            ["X-Name: A_VARIABLE"],
            ["http://a.test/"],
        ],
        tuple[str, ...]: [
            *(("a.test",), ("url",), ("a",), ("html",), ("X-Name: A_VARIABLE",)),
            ("http://a.test/",),
        ],
        HostTables: [{"a.test": {"delay": "1s"}}],
        Path: [Path("x")],
        list[Path]: [[Path("a name"), Path("x")]],
        StoreAddress: [StoreAddress("memory")],
    }
    return samples.get(kind, [kind])  # the word of a literal stands for itself


def accepts(option: Option, value: object) -> bool:
    try:
        option.take(value)
    except UsageError:
        return False
    return True


def test_every_option_is_a_keyword_and_every_keyword_an_option() -> None:
    assert list(HINTS) == list(KEYWORDS), "in the same order, too"


@pytest.mark.parametrize("name", KEYWORDS)
def test_a_keyword_takes_what_its_option_is_declared_as(name: str) -> None:
    option, typed = KEYWORDS[name], alternatives(HINTS[name])
    declared = alternatives(get_type_hints(CrawlOptions)[option.field])
    if option.default is not None:  # None counts as not given: it would not be what was meant
        declared -= {NoneType}
    assert declared <= typed | {AutoDelay, StoreAddress, Path}
    assert ARRIVES.get(option.kind.metavar.partition("|")[0], set()) <= typed


@pytest.mark.parametrize("name", KEYWORDS)
def test_whatever_is_typed_is_accepted(name: str) -> None:
    option = KEYWORDS[name]
    for kind in alternatives(HINTS[name]):
        assert any(accepts(option, value) for value in examples(kind, option)), kind


def test_a_type_checker_sees_a_misspelt_option() -> None:
    """Mypy runs over this file: it would complain of a comment that ignores nothing."""
    wrong: list[Any] = [
        lambda: gossamer.crawl_sync("http://a.test/", max_page=3),  # type: ignore[call-arg]
        lambda: gossamer.crawl_sync("http://a.test/", delay=[1]),  # type: ignore[arg-type]
        lambda: gossamer.crawl_sync("http://a.test/", scope="all"),  # type: ignore[arg-type]
        lambda: list(gossamer.pages_sync("http://a.test/", max_page=3)),  # type: ignore[call-arg]
        lambda: asyncio.run(gossamer.crawl("http://a.test/", dely="0s")),  # type: ignore[call-arg]
    ]
    for call in wrong:
        with pytest.raises(UsageError):
            call()


def test_options_may_be_gathered_first() -> None:
    options: CrawlKeywords = {"max_pages": 3, "delay": "500ms", "max_bytes": "1MB"}
    options["timeout"] = 2.5
    with pytest.raises(UsageError, match="at least one seed"):
        gossamer.crawl_sync(**options)
