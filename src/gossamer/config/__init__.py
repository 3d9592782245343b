"""The options of a crawl: their declaration, their sources and their validation.

`options` declares each option once, with its kind of value (`kinds`, `quantities`, `texts`), its
group and its help text. `sources` collects values from the command line, the environment and a
TOML file into `CrawlOptions`. `report` lists the effective options and writes the table for the
documentation.
"""

from gossamer.config.declaration import Group, Option
from gossamer.config.options import OPTIONS, CrawlOptions, LogFormat, ScopeName
from gossamer.config.quantities import format_size
from gossamer.config.report import describe, options_markdown
from gossamer.config.sources import Loaded, load
from gossamer.config.store_address import StoreAddress

__all__ = [
    "OPTIONS",
    "CrawlOptions",
    "Group",
    "Loaded",
    "LogFormat",
    "Option",
    "ScopeName",
    "StoreAddress",
    "describe",
    "format_size",
    "load",
    "options_markdown",
]
