"""The name of a module as it is written, perhaps with options: `save:folder=html`.

Options follow the name (`NAME`, `package.mod:object` or `./file.py:object`) after a colon, as
`KEY=VALUE` with commas between them. Values are texts. A comma belongs to the value unless another
`KEY=` follows it, so an address or a list of words needs no quoting.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from gossamer.config.kinds import nearest
from gossamer.errors import UsageError

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
    for one in _NEXT_OPTION.split(match[2]):
        key, _, value = one.partition("=")
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
    if not isinstance(known, tuple) or not all(isinstance(one, str) for one in known):
        raise UsageError(f"the known_options of a module must be a tuple of names, not {known!r}")
    return known
