"""How an output gets its name: whole, and never in the place of what somebody else has written."""

import os
from pathlib import Path

from gossamer.errors import CrawlError
from gossamer.stores.atomic_files import publish


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
