import functools
from collections.abc import AsyncIterator, Iterator

import pytest

from gossamer.model import Page
from gossamer.model.errors import UsageError
from gossamer.modules.contract import Module, ModuleContext
from gossamer.modules.loading import as_module


def function(page: Page) -> None:
    """See a page."""


async def async_function(page: Page) -> None:
    """See a page."""


def with_option(page: Page, *, option: str = "") -> None:
    """See a page."""


class Whole:
    def open(self, context: ModuleContext) -> None: ...
    def page(self, page: Page) -> None: ...
    def depth_changed(self, page_id: int, depth: int) -> None: ...
    def close(self) -> None: ...


class OnlyClose:
    def close(self) -> None: ...


class Mixed:
    def open(self, context: ModuleContext) -> None: ...
    async def page(self, page: Page) -> None: ...


class CallableClass:
    def open(self, context: ModuleContext) -> None: ...
    def __call__(self, page: Page) -> None: ...


class AsyncCaller:
    async def __call__(self, page: Page) -> None: ...


class Quick:
    on_loop = True

    def page(self, page: Page) -> None: ...


def offered(module: Module) -> set[str]:
    names = ("open", "page", "depth_changed", "close")
    return {name for name in names if getattr(module, name) is not None}


@pytest.mark.req("D12")
@pytest.mark.parametrize(
    ("thing", "methods", "on_loop"),
    [
        (function, {"page"}, False),
        (async_function, {"page"}, True),
        (with_option, {"page"}, False),
        (functools.partial(with_option, option="x"), {"page"}, False),
        (functools.partial(async_function), {"page"}, True),
        (Whole, {"open", "page", "depth_changed", "close"}, False),
        (Whole(), {"open", "page", "depth_changed", "close"}, False),
        (OnlyClose, {"close"}, False),
        (Mixed, {"open", "page"}, True),
        (CallableClass, {"open", "page"}, False),
        (AsyncCaller(), {"page"}, True),
        (Quick, {"page"}, True),
        (lambda page: None, {"page"}, False),
    ],
)
def test_functions_objects_and_classes_are_modules(
    thing: object, methods: set[str], on_loop: bool
) -> None:
    module = as_module(thing, "x")
    assert module.name == "x"
    assert offered(module) == methods
    assert module.on_loop is on_loop


def test_a_module_has_the_name_of_its_function_if_it_is_given_none() -> None:
    assert as_module(function).name == "function"
    assert as_module(Whole()).name == "Whole"
    assert as_module(functools.partial(function)).name == "partial"
    assert as_module(as_module(function)).name == "function"


class NeedsArguments:
    def __init__(self, path: str) -> None: ...
    def page(self, page: Page) -> None: ...


class CannotBeMade:
    def __init__(self) -> None:
        raise FileNotFoundError("no model.bin")

    def page(self, page: Page) -> None: ...


class NotAMethod:
    page = 3


class Yields:
    def close(self) -> Iterator[str]:
        yield "nobody asks for it"


class YieldsDepths:
    async def depth_changed(self, page_id: int, depth: int) -> AsyncIterator[int]:
        yield depth


class NoLinks:
    links = ("http://a.test/",)


class Empty:
    pass


class TakesNothing:
    def page(self) -> None: ...


class CloseWithMore:
    def close(self, force: bool) -> None: ...


@pytest.mark.req("D12")
@pytest.mark.parametrize(
    ("thing", "words"),
    [
        ({}, r"nor an object with one of the methods prepare, open, .*, conclude: it is a dict"),
        (Empty, r"nor an object .*: it is an Empty"),
        (3, r"it is an int"),
        (str, r"neither a function nor an object"),
        (NeedsArguments, r"needs arguments \(missing a required argument: 'path'\)"),
        (
            CannotBeMade,
            r"could not be created: FileNotFoundError: no model.bin \(test_shape.py, line",
        ),
        (NotAMethod, r"page is not a method, it is an int"),
        (Yields, r"close is a generator, its body would never run"),
        (YieldsDepths, r"depth_changed is a generator"),
        (NoLinks, r"links is not a method, it is a tuple"),
        (TakesNothing, r"page must take page \(too many positional arguments\)"),
        (lambda: None, r"must take page"),
        (lambda page, more: None, r"must take page \(missing a required argument: 'more'\)"),
        (CloseWithMore, r"close must take no arguments"),
    ],
)
def test_what_is_no_module_is_refused_in_one_line(thing: object, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        as_module(thing, "./mine.py:x")
    assert str(caught.value).startswith("module ./mine.py:x")
    assert "\n" not in str(caught.value)
