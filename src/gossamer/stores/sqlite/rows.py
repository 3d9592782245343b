"""The rows of a crawl in a SQLite file, or in memory.

One connection writes, in a transaction that stays open: changes are written into it at once, and
`COMMIT` makes them durable, all or none of them, in whatever thread that is wanted. Another
connection reads meanwhile, and other processes may read at any time (WAL).

**What can be lost.** What is written and not committed, if the process is killed or the disk is
full. A loss of power, or a crash of the system: the log is not flushed at each commit
(`synchronous=NORMAL`), only at each checkpoint, when it has grown to 32 MB. So the last commits can
be missing: about 32 MB of log (some 1,000 to 2,000 pages), or what the system itself has not
written back yet, on Linux about the last 30 seconds. The order is never lost: a commit that
survives has all those before it, and the file is valid. Flushing each commit would wait for the
disk many times a second, only to fetch fewer pages again after a loss of power.
"""

from collections.abc import Callable
from pathlib import Path

from gossamer.stores.rows import Changes
from gossamer.stores.sqlite.checkpoints import LOG_BYTES, Checkpoints
from gossamer.stores.sqlite.file import begin, open_file, open_second
from gossamer.stores.sqlite.row_reads import SqliteRowReads
from gossamer.stores.sqlite.writing import write_changes


class SqliteRows(SqliteRowReads):
    """The rows of a crawl in one SQLite file, or in memory."""

    def __init__(self, path: Path | None = None, *, log_bytes: int = LOG_BYTES) -> None:
        """Open the file at a path; None: keep everything in memory."""
        file = path or Path(":memory:")
        self._writing = open_file(file)
        super().__init__(self._writing if path is None else open_second(file), file)
        self._checkpoints = None if path is None else Checkpoints(path, log_bytes)
        (self._last_id,) = self._writing.execute("SELECT coalesce(max(id), 0) FROM urls").fetchone()

    def is_lost(self) -> bool:
        """Return False: there is no server."""
        return False

    def reconnect(self) -> None:
        """Do nothing: there is no server."""

    def give_up(self) -> None:
        """Do nothing: there is no server."""

    def renew_lead(self) -> None:
        """Do nothing: the lock of the crawl's directory is held until it is closed."""

    def write(self, changes: Changes) -> Callable[[], None] | None:
        """Write changes into the open transaction; return what commits it."""
        assert not changes.sent, "no messages are carried here"
        write_changes(self._writing, changes, self._last_id)
        self._last_id = max(self._last_id, *changes.urls, 0) if changes.urls else self._last_id
        if self._checkpoints is None:
            return None  # what is in memory is as durable as it gets
        return self._commit

    def _commit(self) -> None:
        """Make durable what was written, and begin the next transaction.

        The write lock is taken at once, so that nothing in the transaction can fail for it.
        """
        assert self._checkpoints is not None
        self._writing.execute("COMMIT")
        self._checkpoints.after_commit()
        begin(self._writing)

    def close(self) -> None:
        """Let go of it; what was written and not made durable is lost."""
        if self._checkpoints is not None:
            self._checkpoints.close()
        self._reading.close()
        self._writing.close()
