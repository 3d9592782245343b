"""The plugins of one kind: found by a name, a dotted name or a file."""

import hashlib
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Mapping, Sequence
from functools import reduce
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING

import msgspec

from gossamer.config.values import nearest
from gossamer.model.errors import UsageError
from gossamer.modules.calls import describe
from gossamer.urls import shown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_FILE_NAME = re.compile(r"(.+?\.py)(:.*)?", re.DOTALL)


def file_of(spec: str) -> str | None:
    """Return the file that a plugin is named by, as in ./file.py:object; None: it has a name."""
    match = _FILE_NAME.fullmatch(spec)
    return match[1] if match else None


def absolute_name(spec: str, folder: Path) -> str:
    """Return the name of a plugin that was given in a folder, so that it is found from anywhere."""
    file = file_of(spec)
    if file is None:
        return spec
    return os.path.normpath(folder / Path(file).expanduser()) + spec[len(file) :]


def import_file(path: Path, kind: str = "module") -> ModuleType:
    """Return the file as a module; UsageError says what is wrong with it, and at which line.

    `kind` is what people call the plugin in it.
    """
    full = path.resolve()
    try:
        source = full.read_bytes()
    except FileNotFoundError as error:
        raise UsageError(f"there is no {kind} file {path}") from error
    except OSError as error:
        raise UsageError(f"{kind} file {path} cannot be read: {error.strerror}") from error
    digest = hashlib.blake2b(os.fsencode(full) + b"\0" + source, digest_size=8).hexdigest()
    stem = re.sub(r"\W", "_", full.stem)
    name = f"gossamer_file_{stem}_{digest}"
    if (known := sys.modules.get(name)) is not None:
        return known
    loader = UncachedLoader(name, str(full))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # Before the code runs: dataclasses and typing look their own module up while it does.
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, Exception | SystemExit):
            raise UsageError(
                f"{kind} file {path} fails: {describe(error, str(full))}{hint(error, full)}"
            ) from error
        raise
    return module


class UncachedLoader(SourceFileLoader):
    """Compiles the file as it is now; no bytecode beside the user's file, none that is stale."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the compiled source."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def hint(error: BaseException, file: Path) -> str:
    """Return what to do about an import of a neighbour."""
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing is None or not (file.parent / f"{missing.partition('.')[0]}.py").exists():
        return ""
    return (
        f"; files beside it are not imported: set PYTHONPATH={file.parent} "
        f"and name it as {file.stem}:OBJECT"
    )


class Plugin(msgspec.Struct, frozen=True):
    """A plugin that has a name, as it is listed."""

    name: str
    origin: str
    """`built in`, or the package it comes from."""
    summary: str
    """The first line of its docstring, or why it cannot be loaded."""
    found: object = None
    """The plugin itself; None if it cannot be loaded."""


class Plugins(msgspec.Struct, frozen=True):
    """All plugins of one kind.

    Built-in ones come first: an installed package cannot take their names away.
    """

    kind: str
    """What people call one: `module`, `scorer`."""
    group: str
    """The entry point group under which installed packages announce them."""
    built_in: Mapping[str, str]
    """For each name the object, as `package.mod:object`."""

    def find(self, spec: str) -> object:
        """Return the object that the user named: NAME, package.mod:object, ./file.py:object."""
        spec = self.built_in.get(spec, spec)
        where, colon, attribute = spec.rpartition(":")
        if spec.endswith(".py"):
            where, attribute = spec, ""
        if where.endswith(".py") or "/" in where:
            file = import_file(Path(where).expanduser(), self.kind)
            return self._attribute_of(file, attribute, spec)
        if colon:
            return self._attribute_of(import_package(where), attribute, spec)
        return self._load(self._entry_point(spec))

    def available(self) -> list[Plugin]:
        """Return every plugin that has a name, built-in ones first, then by name."""
        built_in = {name: self.find(name) for name in sorted(self.built_in)}
        plugins = [
            Plugin(name, "built in", _first_line(plugin), plugin)
            for name, plugin in built_in.items()
        ]
        for point in sorted(self._installed(), key=lambda point: point.name):
            try:
                plugin = self._load(point)
                plugins.append(Plugin(point.name, _origin(point), _first_line(plugin), plugin))
            except UsageError as error:
                plugins.append(Plugin(point.name, _origin(point), str(error)))
        return plugins

    def _entry_point(self, name: str) -> "EntryPoint":
        points = self._installed()
        matches = [point for point in points if point.name == name]
        if len(objects := sorted({point.value for point in matches})) > 1:
            packages = " and ".join(sorted({_origin(point) for point in matches}))
            raise UsageError(
                f"{self.kind} {name} is announced by {packages}: name the one you mean as "
                + " or ".join(objects)
            )
        if matches:
            return matches[0]
        known = [*self.built_in, *(point.name for point in points)]
        near = nearest(name, known)
        meant = f"did you mean {near!r}? " if near else ""
        raise UsageError(
            f"there is no {self.kind} called {shown(name)}: {meant}'gossamer {self.kind}s' lists "
            "them; name your own as ./file.py:OBJECT or package.mod:OBJECT"
        )

    def _installed(self) -> "Sequence[EntryPoint]":
        # Costs more to load than all of our own plugins, and is seldom needed.
        from importlib.metadata import entry_points  # noqa: PLC0415

        points = entry_points(group=self.group)
        return [point for point in points if point.name not in self.built_in]

    def _load(self, point: "EntryPoint") -> object:
        try:
            return point.load()
        except (Exception, SystemExit) as error:
            raise UsageError(
                f"{self.kind} {point.name} of {_origin(point)} cannot be loaded: {describe(error)}"
            ) from error

    def _attribute_of(self, module: ModuleType, attribute: str, spec: str) -> object:
        """Return the named object of a Python module, or name what there is instead."""
        try:
            return reduce(getattr, attribute.split("."), module)
        except AttributeError as error:
            what = f"has no {shown(attribute)}" if attribute else "needs an object after a colon"
            raise UsageError(f"{self.kind} {spec} {what}: {_contents(module)}") from error


def import_package(dotted: str) -> ModuleType:
    """Import by dotted name."""
    try:
        return importlib.import_module(dotted)
    except (Exception, SystemExit) as error:
        file = Path(*dotted.split(".")).with_suffix(".py")
        meant = f"; did you mean ./{file}:OBJECT?" if file.exists() else ""
        raise UsageError(f"{shown(dotted)} cannot be imported: {describe(error)}{meant}") from error


def _origin(point: "EntryPoint") -> str:
    return "?" if point.dist is None else point.dist.name


def _contents(module: ModuleType) -> str:
    """Return the functions and classes that a Python module defines itself, in words."""
    names = [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isroutine(thing) or inspect.isclass(thing))
        and thing.__module__ == module.__name__
    ]
    return f"there is {', '.join(names) or 'neither a function nor a class in it'}"


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]
