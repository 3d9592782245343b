"""Loading modules by what the user wrote after `--module`."""

from collections.abc import Iterable
from types import MappingProxyType

from gossamer.errors import UsageError
from gossamer.modules.contract import Module
from gossamer.modules.shape import as_module
from gossamer.plugins import Plugins

MODULES = Plugins(
    "module",
    "gossamer.modules",
    MappingProxyType(
        {name: f"gossamer.modules.{name}:{name.title()}" for name in ("noop", "save", "stats")}
    ),
)


def load_modules(specs: Iterable[str]) -> list[Module]:
    """Return the modules in the order given; UsageError if one is wrong or given twice."""
    listed = list(specs)
    for number, spec in enumerate(listed):
        if spec in listed[:number]:
            raise UsageError(f"module {spec} is given twice")
    return [load_module(spec) for spec in listed]


def load_module(spec: str) -> Module:
    """Return the module for NAME, package.mod:object or ./file.py:object."""
    return as_module(MODULES.find(spec), spec)
