"""The options of a crawl: their declaration, their sources and their validation.

`options` declares each option once, with its kind of value (`values`) and its help text. `sources`
collects values from the command line, the environment and a TOML file into `CrawlOptions`.
`host_rules` are the rules of single hosts. `report` shows the options to people.

"""

from gossamer.config.declaration import Option
from gossamer.config.host_rules import HostTable
from gossamer.config.options import (
    OPTIONS,
    RETIRED,
    CrawlOptions,
    LogFormat,
    accepted_kinds,
    keep_seconds,
)
from gossamer.config.report import describe, options_markdown
from gossamer.config.sources import STORED, Loaded, load
from gossamer.config.store_address import IN_DIRECTORY, OWN_REDIS, StoreAddress
from gossamer.config.values import AutoDelay, ScopeName, format_size, least_delay_s

__all__ = [
    "IN_DIRECTORY",
    "OPTIONS",
    "OWN_REDIS",
    "RETIRED",
    "STORED",
    "AutoDelay",
    "CrawlOptions",
    "HostTable",
    "Loaded",
    "LogFormat",
    "Option",
    "ScopeName",
    "StoreAddress",
    "accepted_kinds",
    "describe",
    "format_size",
    "keep_seconds",
    "least_delay_s",
    "load",
    "options_markdown",
]
