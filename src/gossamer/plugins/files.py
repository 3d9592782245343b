"""A single Python file as an importable module, without touching `sys.path`.

The file is imported under a name of its own, made from its path and its content: asked for twice
it is imported once, and a changed file is a new module. Its folder is not put on `sys.path`: a
neighbour called `queue.py` or `json.py` would otherwise replace the standard library's for the
whole process. So a file cannot import the files beside it; code in several files is a package,
named `package.mod:object`.
"""

import hashlib
import importlib.util
import os
import re
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from gossamer.errors import UsageError
from gossamer.plugins.failures import describe

_FILE_NAME = re.compile(r"(.+?\.py)(:.*)?", re.DOTALL)


def file_of(spec: str) -> str | None:
    """Return the file that a plugin is named by, as in ./file.py:object; None: it has a name."""
    found = _FILE_NAME.fullmatch(spec)
    return found[1] if found else None


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
