"""Objects by reference: `package.module:name`, or `./file.py:name` for a file."""

import difflib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from gossamer.errors import UsageError
from gossamer.urls import shown


def load_object(reference: str) -> object:
    """Return what the reference stands for; `UsageError` says what is wrong with it.

    Importing runs the code of the module.
    """
    where, _, name = reference.rpartition(":")
    if not where or not name:
        raise UsageError(f"{shown(reference)} is not of the form package.module:name.")
    module = _from_file(Path(where)) if where.endswith(".py") else _from_package(where)
    try:
        return getattr(module, name)
    except AttributeError:
        public = [other for other in vars(module) if not other.startswith("_")]
        raise UsageError(f"{shown(where)} has no {shown(name)}{suggestion(name, public)}") from None


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return the end of a sentence: one that names the nearest known word, or a full stop."""
    nearest = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {nearest[0]!r}?" if nearest else "."


def _from_package(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:  # it runs: anything may be raised
        raise _not_importable(name, error) from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"There is no file {shown(str(path))}.")
    # One file is one module, however many references name it.
    name = f"gossamer-file:{path.resolve()}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{shown(str(path))} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its classes look for their module there
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # it runs: anything may be raised
        del sys.modules[name]
        raise _not_importable(str(path), error) from error
    return module


def _not_importable(where: str, error: Exception) -> UsageError:
    reason = traceback.format_exception_only(error)[-1].strip()
    return UsageError(f"{shown(where)} cannot be imported: {reason}")
