"""Write docs/configuration.md from the declared options."""

from pathlib import Path

from gossamer.config.report import options_markdown

PAGE = Path(__file__).resolve().parent.parent / "docs" / "configuration.md"

HEAD = """\
# Configuration

Every option of `gossamer crawl` can be given as a flag, as a variable of the environment, or in a
TOML file named by `--config`. Flags go before variables, variables before the file, the file before
the default; a list replaces a list. `gossamer config` shows each effective value and where it comes
from.

Durations are written `500ms`, `1s`, `5m`, `1h`; sizes `500kB`, `50MB`, `1GB`. An unknown name or a
bad value is an error that names the nearest valid one.

Written by `make docs`; do not edit this page by hand.

"""


def text() -> str:
    """Return the page."""
    return HEAD + options_markdown().rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
