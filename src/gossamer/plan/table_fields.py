"""Whether fields that were asked for have a table to stand in."""

from collections.abc import Mapping, Sequence

from gossamer.config import CrawlOptions
from gossamer.errors import UsageError
from gossamer.outputs.registry import kind_of_output


def check_given_fields(given: Mapping[str, object], options: CrawlOptions) -> None:
    """Refuse fields that were given to a crawl without a table.

    Those that are stored with it, or set for all crawls of a file, are there for when it has one.
    """
    if given.get("fields"):
        check_fields(options.fields, options.output)


def check_fields(fields: Sequence[str], targets: Sequence[str]) -> None:
    """Refuse fields if no output is a table."""
    if fields and not any(kind_of_output(target).is_table for target in targets):
        raise UsageError(
            "--fields says what the rows of a table hold, and no output here is a table: leave "
            "it out, or add one, such as -o pages.csv"
        )
