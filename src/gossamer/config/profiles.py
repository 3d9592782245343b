"""Profiles: options that are set together, under one name."""

from collections.abc import Iterator, Mapping
from typing import Final

from gossamer.config.kinds import quoted
from gossamer.errors import UsageError

Profile = Mapping[str, object]
"""Options by name, with values as in a TOML file."""

SHIPPED: Final[Mapping[str, Profile]] = {
    # What the command `crawler` runs: every page under the seed's directory, whole, one at a time.
    "classic": {
        "scope": "prefix",
        "follow": "a,area",
        "delay": "1s",
        "connections": "1",
        "workers": "1",
        "max-pages": "1000000000000",
        "max-bytes": "1000TB",
        "max-page-bytes": "64MB",
        "timeout": "1m",
        "similarity": "off",
        "traps": "off",
        "scorer": "depth",
        "module": ["save"],
    },
    # Largest page number first, links from between the markers only, one pass over one host.
    "focused": {
        "scope": "host",
        "scorer": "page-number",
        "markers": "<!-- CONTENT -->",
        "follow": "a,area",
        "connections": "1",
        "workers": "1",
        "retries": "0",
        "revisit": "never",
    },
    # The distributed crawler of the whole web, most important pages first.
    "web": {
        "scope": "any",
        "follow": "a,area",
        "scorer": "auto",
        "max-pages": "10000",
        "max-bytes": "50MB",
        "max-page-bytes": "500kB",
        "similarity": "0.9",
        "similar-links": "ignore",
        "revisit": "1h",
        "keep": "1h",
        "retries": "1",
        "url-queue": "10000",
        "worker-queue": "10000",
    },
}


def choose_profile(
    name: str, origin: str, own: Mapping[str, Profile]
) -> Iterator[tuple[str, object, str]]:
    """Yield name, value and origin of each option of a profile: a shipped one, or the user's own.

    If both have the name, the user's own counts.
    """
    known = {**SHIPPED, **own}
    if name not in known:
        raise UsageError(
            f"profile {quoted(name)} ({origin}) is unknown: there are {', '.join(known)}; your own "
            "are tables [profiles.NAME] in the file that --config names"
        )
    for option, value in known[name].items():
        if option == "profile":
            raise UsageError(f"profile {quoted(name)} names another profile: write out its options")
        yield option, value, f"profile {name}"
