"""The options of a crawl: their declaration, their sources and their validation.

`options` declares each option once, with its kind of value (`values`) and its help text. `sources`
collects values from the command line, the environment and a TOML file into `CrawlOptions`.
`host_rules` are the rules of single hosts. `report` shows the options to people.

"""

from gossamer.config.declaration import Option
from gossamer.config.host_rules import HostTable
from gossamer.config.options import OPTIONS, CrawlOptions, LogFormat, keep_seconds
from gossamer.config.sources import load
from gossamer.config.store_address import IN_DIRECTORY, StoreAddress

__all__ = [
    "IN_DIRECTORY",
    "OPTIONS",
    "CrawlOptions",
    "HostTable",
    "LogFormat",
    "Option",
    "StoreAddress",
    "keep_seconds",
    "load",
]
