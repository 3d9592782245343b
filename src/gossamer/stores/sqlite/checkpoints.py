"""The checkpoints of a crawl's file: its log is written back into it, beside the crawl.

SQLite would do that in the middle of a commit, and flushing 32 MB to the disk holds up everything
else of the process. Here a thread does it, with a connection of its own, in two steps. The first
one copies what the log has, while the crawl goes on writing behind it. The second one copies the
little that has come since, and empties the log: meanwhile no transaction may begin, so the next
commit is late by some milliseconds, and nobody else waits.
"""

import sqlite3
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Final

LOG_BYTES: Final = 32_000_000
"""How large the log gets before it is written back."""


class Checkpoints:
    """Decides when the log of a file is written back, and has a thread do it."""

    def __init__(self, path: Path, log_bytes: int = LOG_BYTES) -> None:
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._log_bytes = log_bytes
        self._due_at = log_bytes
        """The size of the log at which the next one begins."""
        self._thread: ThreadPoolExecutor | None = None
        self._copying: Future[None] | None = None

    def after_commit(self) -> None:
        """Go on with them, between two transactions; raise an error that the thread has met."""
        if self._copying is not None:
            if self._copying.done():
                self._copying.result()
                self._copying = None
                self._start("TRUNCATE").result()
                # What somebody reads cannot be emptied: it is tried when there is as much more.
                self._due_at = self._log_size() + self._log_bytes
        elif self._log_size() >= self._due_at:
            self._copying = self._start("PASSIVE")

    def close(self) -> None:
        """Wait for the one that is under way; what it leaves undone, closing the file does."""
        if self._thread is not None:
            self._thread.shutdown()

    def _start(self, how: str) -> Future[None]:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "gossamer-checkpoint")
        return self._thread.submit(self._run, how)

    def _run(self, how: str) -> None:
        # Readers, and whoever writes a backup of the file, are not waited for.
        connecting = sqlite3.connect(self._path, isolation_level=None, timeout=0)
        with closing(connecting) as db:
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(f"PRAGMA wal_checkpoint({how})")

    def _log_size(self) -> int:
        try:
            return self._log.stat().st_size
        except FileNotFoundError:
            return 0
