"""Modules made of what the user gave: a name after `--module`, or any object, which is checked."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from gossamer.errors import UsageError
from gossamer.modules.contract import Module
from gossamer.modules.spec import NO_OPTIONS, ModuleSpec, check_options, parse_spec
from gossamer.plugins import Plugins, describe
from gossamer.plugins.calls import is_async

Call = Callable[..., Any]

MODULES = Plugins(
    "module",
    "gossamer.modules",
    {name: f"gossamer.modules.{name}:{name.title()}" for name in ("noop", "save", "stats")},
)
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "prepare": ("context",),
    "open": ("context",),
    "page": ("page",),
    "links": ("page", "links"),
    "finished": ("result",),
    "depth_changed": ("page_id", "depth"),
    "close": (),
    "conclude": ("context",),
}
"""The methods of a module and what each is given."""
MAY_YIELD = frozenset({"page", "links", "finished"})
"""Those from which something is taken back."""


def load_modules(specs: Iterable[str]) -> list[Module]:
    """Return the modules in the order given; UsageError if one is wrong or given twice."""
    listed = list(specs)
    for number, spec in enumerate(listed):
        if spec in listed[:number]:
            raise UsageError(f"module {spec} is given twice")
    return [load_module(spec) for spec in listed]


def load_module(spec: str) -> Module:
    """Return the module for NAME, package.mod:object or ./file.py:object, with its options."""
    parsed = parse_spec(spec)
    return as_module(MODULES.find(parsed.what), spec, parsed)


def as_module(thing: object, spec: str | None = None, parsed: ModuleSpec | None = None) -> Module:
    """Return a function, object or class as a module; UsageError says what is wrong with it.

    Without the name by which other processes can load it, it runs in this one.
    """
    name = spec or getattr(thing, "__qualname__", None) or type(thing).__qualname__
    if isinstance(thing, Module):
        return thing
    instance = instantiated(thing, name) if isinstance(thing, type) else thing
    if parsed is not None:
        check_options(instance, parsed)
    calls = {
        method: call
        for method in ARGUMENTS
        if (call := getattr(instance, method, None)) is not None
    }
    if "page" not in calls and callable(instance):
        calls["page"] = instance
    if not calls:
        raise UsageError(
            f"module {name} is neither a function nor an object with one of the methods "
            f"{', '.join(ARGUMENTS)}: it is {a_kind(instance)}"
        )
    for method, call in calls.items():
        check(call, method, name)
    on_loop = bool(getattr(instance, "on_loop", False)) or any(map(is_async, calls.values()))
    return Module(
        name=name,
        on_loop=on_loop,
        extracts=any(is_generator(calls[one]) for one in ("page", "finished") if one in calls),
        in_coordinator=spec is None or bool(getattr(instance, "in_coordinator", False)),
        options=NO_OPTIONS if parsed is None else parsed.options,
        file=source_file(instance),
        **calls,
    )


def instantiated(cls: type, name: str) -> object:
    """Return an instance made without arguments."""
    if has_constructor(cls) and (error := misfit(cls, ())):
        raise UsageError(
            f"module {name} is a class that needs arguments ({error}): give each one a default"
        ) from error
    try:
        return cls()
    except Exception as error:
        raise UsageError(
            f"module {name} could not be created: {describe(error, source_file(cls))}"
        ) from error


def has_constructor(cls: type) -> bool:
    """Tell whether a class may need arguments; to read the signature of others takes 3 ms."""
    written = any({"__init__", "__new__"} & vars(one).keys() for one in cls.__mro__[:-1])
    return written or type(cls) is not type


def check(call: object, method: str, name: str) -> None:
    """Refuse a method that cannot be called as the runner will call it."""
    if not callable(call):
        raise UsageError(f"module {name}: {method} is not a method, it is {a_kind(call)}")
    own_name = getattr(call, "__name__", method)
    if method not in MAY_YIELD and is_generator(call):
        raise UsageError(
            f"module {name}: {own_name} is a generator, its body would never run: "
            "take the 'yield' out"
        )
    wanted = ARGUMENTS[method]
    if error := misfit(call, wanted):
        raise UsageError(
            f"module {name}: {own_name} must take {', '.join(wanted) or 'no arguments'} ({error})"
        ) from error


def misfit(call: Call, arguments: tuple[str, ...]) -> TypeError | None:
    """Return why it cannot be called with the arguments; some built-ins do not tell."""
    try:
        inspect.signature(call).bind(*arguments)
    except TypeError as error:
        return error
    except ValueError:
        pass
    return None


def is_generator(call: Call) -> bool:
    """Tell whether it yields what it gives, plain or async."""
    return any(
        inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
        for function in (call, type(call).__call__)
    )


def source_file(thing: object) -> str | None:
    """Return the path of the file that defines a function, a class or an object's class."""
    described = thing if inspect.isroutine(thing) or isinstance(thing, type) else type(thing)
    try:
        return inspect.getsourcefile(inspect.unwrap(described))
    except (OSError, TypeError, ValueError):
        return None  # Typed at a prompt or in a notebook, written in C, or wrapped in a circle.


def a_kind(thing: object) -> str:
    """Return `a dict`, `an int`, `a module`: what a person would call it."""
    kind = type(thing).__name__
    return f"{'an' if kind[0] in 'aeiouAEIO' else 'a'} {kind}"
