"""The folder in a crawl's directory where its own Redis keeps its files.

Apart from `opening`, so that a crawl in a file does not wait for the Redis client to load.
"""

import os
from pathlib import Path

from gossamer.errors import UsageError

FOLDER = "redis"
MARK = ".gossamer"
APPEND_ONLY_FILES = "appendonlydir/appendonly.aof.*"


def is_own_redis(directory: Path) -> bool:
    """Tell whether a crawl in this directory has a Redis of its own, as far as we may know."""
    return os.path.isfile(directory / FOLDER / MARK)  # noqa: PTH113 -- a Path complains if not


def make_folder(directory: Path) -> Path:
    """Make the folder, which only its owner can enter; refuse one that is not ours."""
    folder = directory / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    if not is_own_redis(directory) and any(folder.iterdir()):
        raise UsageError(
            f"{folder} was not written by Gossamer: move it away, or use another --dir"
        )
    folder.joinpath(MARK).touch()
    return folder
