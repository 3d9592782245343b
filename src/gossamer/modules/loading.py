"""From what the user wrote after `--module` to a module: a name, a dotted name or a file.

Code is only ever loaded because the operator named it; nothing that was fetched has a say.
"""

import difflib
import importlib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING

import msgspec

from gossamer.errors import UsageError
from gossamer.modules.contract import Module
from gossamer.modules.failures import describe
from gossamer.modules.files import import_file
from gossamer.modules.shape import as_module
from gossamer.urls import shown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "gossamer.modules"
"""The entry point group under which installed packages announce modules."""

BUILT_IN: Mapping[str, str] = MappingProxyType(
    {name: f"gossamer.modules.{name}:{name.title()}" for name in ("noop", "save", "stats")}
)
"""Gossamer's own. They come first: an installed package cannot take the name `save` away."""


class Offer(msgspec.Struct, frozen=True):
    """A module that can be asked for by name."""

    name: str
    origin: str
    """`built in`, or the package it comes from."""
    summary: str
    """The first line of its docstring, or why it cannot be loaded."""


def load_modules(specs: Iterable[str]) -> list[Module]:
    """Return the modules in the order given; UsageError if one is wrong or given twice."""
    listed = list(specs)
    for number, spec in enumerate(listed):
        if spec in listed[:number]:
            raise UsageError(f"module {spec} is given twice")
    return [load_module(spec) for spec in listed]


def load_module(spec: str) -> Module:
    """Return the module for NAME, package.mod:object or ./file.py:object."""
    return as_module(find(spec), spec)


def available() -> list[Offer]:
    """Return every module that has a name, built-in ones first, then by name."""
    offers = [Offer(name, "built in", first_line(find(name))) for name in sorted(BUILT_IN)]
    for point in sorted(announced(), key=lambda point: point.name):
        try:
            summary = first_line(loaded(point))
        except UsageError as error:
            summary = str(error)
        offers.append(Offer(point.name, origin(point), summary))
    return offers


def find(spec: str) -> object:
    """Return the object that the user's words name."""
    spec = BUILT_IN.get(spec, spec)
    place, colon, attribute = spec.rpartition(":")
    if spec.endswith(".py"):
        place, attribute = spec, ""
    if place.endswith(".py") or "/" in place:
        return attribute_of(import_file(Path(place).expanduser()), attribute, spec)
    if colon:
        return attribute_of(import_package(place), attribute, spec)
    return loaded(named(spec))


def named(name: str) -> "EntryPoint":
    """Return the entry point of that name."""
    points = announced()
    found = [point for point in points if point.name == name]
    if len({point.value for point in found}) > 1:
        packages = " and ".join(sorted({origin(point) for point in found}))
        raise UsageError(
            f"module {name} is announced by {packages}: name the one you mean as "
            + " or ".join(sorted({point.value for point in found}))
        )
    if found:
        return found[0]
    near = difflib.get_close_matches(name, [*BUILT_IN, *(point.name for point in points)], n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    raise UsageError(
        f"there is no module called {shown(name)}: {meant}'gossamer modules' lists those there "
        "are; your own is named as ./file.py:OBJECT or package.mod:OBJECT"
    )


def announced() -> "Sequence[EntryPoint]":
    """Return what installed packages announce, without repeats of our own names."""
    # Costs more to load than all of our own modules, and is seldom needed.
    from importlib.metadata import entry_points  # noqa: PLC0415

    return [point for point in entry_points(group=GROUP) if point.name not in BUILT_IN]


def loaded(point: "EntryPoint") -> object:
    """Return the object an entry point stands for."""
    try:
        return point.load()
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"module {point.name} of {origin(point)} cannot be loaded: {describe(error)}"
        ) from error


def origin(point: "EntryPoint") -> str:
    """Return the package that announces it."""
    return "?" if point.dist is None else point.dist.name


def import_package(dotted: str) -> ModuleType:
    """Import by dotted name."""
    try:
        return importlib.import_module(dotted)
    except (Exception, SystemExit) as error:
        file = Path(*dotted.split(".")).with_suffix(".py")
        meant = f"; did you mean ./{file}:OBJECT?" if file.exists() else ""
        raise UsageError(f"{shown(dotted)} cannot be imported: {describe(error)}{meant}") from error


def attribute_of(module: ModuleType, attribute: str, spec: str) -> object:
    """Return the named object of a module, or name what there is instead."""
    try:
        return reduce(getattr, attribute.split("."), module)
    except AttributeError as error:
        said = f"has no {shown(attribute)}" if attribute else "needs an object after a colon"
        raise UsageError(f"module {spec} {said}: {there_is(module)}") from error


def there_is(module: ModuleType) -> str:
    """Return the functions and classes that a module defines itself, in words."""
    own = [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isroutine(thing) or inspect.isclass(thing))
        and thing.__module__ == module.__name__
    ]
    return f"there is {', '.join(own)}" if own else "there is neither a function nor a class in it"


def first_line(thing: object) -> str:
    """Return the first line of the docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]
