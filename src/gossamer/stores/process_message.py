"""The messages of a shared crawl: what its processes on other machines have to report."""

from typing import Literal

import msgspec


class ProcessMessage(msgspec.Struct, frozen=True, array_like=True):
    """A warning or an error of a process that takes part in a crawl."""

    who: str
    """The process, such as `worker 3 on db2`."""
    level: Literal["warning", "error"]
    words: str
