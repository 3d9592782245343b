"""The lock of an output: one process at a time writes it."""

import fcntl
import os
import time
from pathlib import Path

from gossamer.model.errors import CrawlError
from gossamer.outputs.contract import OutputSpec
from gossamer.stores.files import publish


def in_progress(target: Path) -> Path:
    """Return the path of an output until it is finished."""
    return target.with_name(f"{target.name}.part")


def place(part: Path, target: Path, *, replace: bool) -> None:
    """Give a file its name; `replace`: what has that name is ours."""
    if replace:
        part.replace(target)
    else:
        try:
            publish(str(part), str(target))
        except FileExistsError as error:
            raise CrawlError(
                f"{target} was made by somebody else meanwhile, and is left alone: move it away "
                f"and go on with the crawl; what was written is in {part.name} until then"
            ) from error
    folder = os.open(target.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


LOCKED_FOR_S = 5.0
"""How long another process may need to let go of an output: one whose coordinator was killed."""


class OutputLock:
    """The lock of one output, among the states of the outputs; it ends with its process."""

    def __init__(self, spec: OutputSpec) -> None:
        self._spec = spec
        self._file: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether it is ours."""
        return self._file is not None

    def take(self) -> None:
        """Be the only one that writes it; who was killed a moment ago may still be there."""
        path = self._spec.folder / f"{self._spec.key}.lock"
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        give_up_at = time.monotonic() + LOCKED_FOR_S
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() >= give_up_at:
                    raise CrawlError(
                        f"another process is writing {self._spec.target}: wait for its end, or "
                        "name another output"
                    ) from error
                time.sleep(0.05)
            else:
                return

    def let_go(self) -> None:
        """Let others write it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
