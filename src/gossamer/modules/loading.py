"""Modules from what the user gave: a name after `--module`, or any object, which is checked."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

import msgspec

from gossamer.config.values import nearest
from gossamer.model.errors import UsageError
from gossamer.modules.calls import describe, is_async
from gossamer.modules.contract import Module
from gossamer.modules.plugins import Plugins

Call = Callable[..., Any]

MODULES = Plugins(
    "module",
    "gossamer.modules",
    {"noop": "gossamer.modules.builtin:Noop", "save": "gossamer.modules.builtin:Save"},
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
_KEY = r"[A-Za-z][A-Za-z0-9_-]*="
_WITH_OPTIONS = re.compile(rf"(.+?):({_KEY}.*)", re.DOTALL)
_NEXT_OPTION = re.compile(rf",(?={_KEY})")
NO_OPTIONS: Mapping[str, str] = MappingProxyType({})


class ModuleSpec(msgspec.Struct, frozen=True):
    """What a module is called, and the options that it is given."""

    what: str
    options: Mapping[str, str] = NO_OPTIONS


def parse_spec(text: str) -> ModuleSpec:
    """Return the parts of what was written; UsageError if an option is given twice."""
    match = _WITH_OPTIONS.fullmatch(text)
    if match is None:
        return ModuleSpec(text)
    options: dict[str, str] = {}
    for option in _NEXT_OPTION.split(match[2]):
        key, _, value = option.partition("=")
        name = key.replace("-", "_")
        if name in options:
            raise UsageError(f"module {text} has the option {key} twice: leave one out")
        options[name] = value
    return ModuleSpec(match[1], options)


def check_options(instance: object, spec: ModuleSpec) -> None:
    """Refuse options that the module does not know, or could not read."""
    if not spec.options:
        return
    if not any(hasattr(instance, method) for method in ("prepare", "open")):
        raise UsageError(
            f"module {spec.what} takes no options: only a module with the method 'open', which is "
            "given a context, can read them"
        )
    if getattr(instance, "known_options", None) is None:
        return
    known = known_options(instance)
    for name in spec.options.keys() - set(known):
        near = nearest(name, known)
        names = f"it knows {', '.join(sorted(known))}" if known else "it has none"
        instead = f"did you mean {near!r}?" if near else names
        raise UsageError(f"module {spec.what} has no option {name!r}: {instead}")


def known_options(module: object) -> tuple[str, ...]:
    """Return the options that a module declares; UsageError if it does so wrongly."""
    known = getattr(module, "known_options", ())
    if not isinstance(known, tuple) or not all(isinstance(name, str) for name in known):
        raise UsageError(f"the known_options of a module must be a tuple of names, not {known!r}")
    return known


def load_modules(specs: Iterable[str]) -> list[Module]:
    """Return the modules in the order given; UsageError if one is wrong or given twice."""
    modules: dict[str, Module] = {}
    for spec in specs:
        if spec in modules:
            raise UsageError(f"module {spec} is given twice")
        modules[spec] = load_module(spec)
    return [*modules.values()]


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
    calls: dict[str, Any] = {
        method: call
        for method in ARGUMENTS
        if (call := getattr(instance, method, None)) is not None
    }
    if "page" not in calls and callable(instance):
        calls["page"] = instance
    if not calls:
        raise UsageError(
            f"module {name} is neither a function nor an object with one of the methods "
            f"{', '.join(ARGUMENTS)}: it is {type_phrase(instance)}"
        )
    for method, call in calls.items():
        check(call, method, name)
    on_loop = bool(getattr(instance, "on_loop", False)) or any(map(is_async, calls.values()))
    return Module(
        name=name,
        on_loop=on_loop,
        extracts=any(is_generator(calls[hook]) for hook in ("page", "finished") if hook in calls),
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
    written = any({"__init__", "__new__"} & vars(base).keys() for base in cls.__mro__[:-1])
    return written or type(cls) is not type


def check(call: object, method: str, name: str) -> None:
    """Refuse a method that cannot be called as the runner will call it."""
    if not callable(call):
        raise UsageError(f"module {name}: {method} is not a method, it is {type_phrase(call)}")
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
        with suppress(ValueError):
            inspect.signature(call).bind(*arguments)
    except TypeError as error:
        return error
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


def type_phrase(thing: object) -> str:
    """Return `a dict`, `an int`, `a module`: what a person would call it."""
    kind = type(thing).__name__
    return f"{'an' if kind[0] in 'aeiouAEIO' else 'a'} {kind}"
