"""What the database does not have for good yet: what is collected, and what is being written."""

from collections.abc import Callable, Iterator

from gossamer.stores.rows import Changes, Rows


class Pending:
    """The changes that are collected for the next commit, and those of the commit under way.

    Whoever reads a row asks here first, and the database only then: it may or may not have the
    changes that are under way.
    """

    def __init__(self) -> None:
        self.now = Changes()
        """What is collected."""
        self.before: Changes | None = None
        """What is under way."""

    def __iter__(self) -> Iterator[Changes]:
        """Yield the changes that a reader has to know, the newest first."""
        yield self.now
        if self.before is not None:
            yield self.before

    def write(self, rows: Rows) -> Callable[[], None] | None:
        """Begin a commit of what was collected; return what makes it durable, if that can wait."""
        assert self.before is None, "one commit at a time"
        self.before, self.now = self.now, Changes()
        return rows.write(self.before)

    def end(self) -> Changes:
        """End the commit: what was under way is durable; return it."""
        changes, self.before = self.before, None
        assert changes is not None
        return changes
