"""The fields of a page that a table may have, by their names in `--fields`."""

from typing import Final

PAGE_FIELDS: Final = (
    *("url", "depth", "status", "title", "language", "fetched_at", "text"),
    *("id", "content_type", "encoding", "bytes", "address", "referrer", "redirected_from"),
    *("main_text", "markdown", "links", "headers", "metadata"),
)
"""All of them; `outputs.rows` says what each holds."""

DEFAULT_FIELDS: Final = PAGE_FIELDS[:7]
