"""The budget of a crawl in pages and bytes, never exceeded however many workers there are."""


class Budget:
    """The budget of a crawl: a lease reserves the most it can use, settling returns the rest.

    Used plus reserved never exceeds the limits. So the last pages are fetched by fewer and fewer
    workers. When less is left than a task may need, one task at a time gets all of that, and the
    crawl ends when that is too little for it.
    """

    def __init__(self, max_pages: int, max_bytes: int, max_task_bytes: int) -> None:
        self.max_pages = max_pages
        self.max_bytes = max_bytes
        self.max_task_bytes = max_task_bytes
        self.pages = 0
        """Pages that were fetched and kept, each visit counted."""
        self.received = 0
        """Bytes of bodies that were received, whatever came of them."""
        self.short_at = 0
        """Under which limit of bytes the rest was too little for a task; 0: under none."""
        self.tasks = 0
        """How many leases hold a reservation."""
        self.reserved = 0
        """How many bytes they may still receive."""

    def __repr__(self) -> str:
        return (
            f"{self.pages} of {self.max_pages} pages, {self.received} of {self.max_bytes} bytes, "
            f"{self.tasks} tasks with {self.reserved} bytes"
        )

    def reserve(self) -> int:
        """Reserve a page, and bytes for a task; return how many, 0 if the budget has none now."""
        left = self.max_bytes - self.received - self.reserved
        is_enough = left >= self.max_task_bytes or not self.tasks
        if self.exhausted_by(self.tasks) is not None or not is_enough:
            return 0
        allowed = min(left, self.max_task_bytes)
        self.tasks += 1
        self.reserved += allowed
        return allowed

    def resume(self, allowed: int) -> None:
        """Go on with a reservation that was made before."""
        self.tasks += 1
        self.reserved += allowed

    def use(self, allowed: int, received: int, *, page: bool = False, short: bool = False) -> None:
        """Replace a reservation by what was used; `short`: the rest was too little for the task."""
        self.tasks -= 1
        self.reserved -= allowed
        self.pages += page
        self.received += min(received, allowed)
        if short:
            self.short_at = self.max_bytes

    def exhausted_by(self, reserved_pages: int = 0) -> str | None:
        """Return which limit leaves no room for another page; None when there is room."""
        if self.pages + reserved_pages >= self.max_pages:
            return "max-pages"
        return "max-bytes" if max(self.received, self.short_at) >= self.max_bytes else None
