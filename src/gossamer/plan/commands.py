"""Commands about a crawl, to be pasted: each names the crawl, and none holds a secret."""

import shlex
from collections.abc import Mapping

from gossamer.config import StoreAddress
from gossamer.config.store_address import IN_DIRECTORY, OWN_REDIS
from gossamer.plan.plan import Plan


def crawl_command(plan: Plan, environment: Mapping[str, str], verb: str, *more: str) -> str:
    """Return `gossamer VERB …` for a crawl."""
    store = plan.options.store
    if store in {IN_DIRECTORY, OWN_REDIS}:
        return directory_command(str(plan.directory), verb, *more)
    name = plan.name if store.is_server else None
    return store_command(store, name, environment, verb, *more)


def directory_command(directory: str, verb: str, *more: str) -> str:
    """Return `gossamer VERB …` for the crawl in a directory."""
    where = f"./{directory}" if directory.startswith("-") else directory
    return shlex.join(["gossamer", verb, where, *more])


def store_command(
    store: StoreAddress, name: str | None, environment: Mapping[str, str], verb: str, *more: str
) -> str:
    """Return `gossamer VERB …` for a crawl in a store; a comment names a variable that it needs.

    An address with a password is left to the environment, where other users cannot see it.
    """
    words, comment = ["gossamer", verb], ""
    if environment.get("GOSSAMER_STORE", "").strip() != (store.url or str(store)):
        if store.is_server and str(store) != store.url:
            comment = f"  # with GOSSAMER_STORE set to {store}"
        else:
            words += ["--store", str(store)]
    if name is not None:
        words += ["--name", name]
    return shlex.join([*words, *more]) + comment
