"""The plain command lines of `gossamer crawl`, read without the library for command lines.

To load that and to declare every flag takes a fifth of what a crawl of one page takes. Here is read
only what leaves no doubt: seeds, and flags as they are declared, each with its value behind it.
Whatever else there is, such as a mistake or a call for help, is left to the library.
"""

from collections.abc import Sequence

from gossamer.config import OPTIONS


def read_plainly(words: Sequence[str]) -> dict[str, object] | None:
    """Return what the library would pass to the command; None if only the library can tell."""
    flags = {name: one for one in OPTIONS for name in (one.flag, one.alias) if name}
    values: dict[str, list[str]] = {}
    seeds: list[str] = []
    left = iter(words)
    for word in left:
        if not word.startswith("-"):
            seeds.append(word)
            continue
        flag, equals, value = word.partition("=")
        option = flags.get(flag)
        if option is None or (equals and not (value and flag.startswith("--"))):
            return None
        is_switch = isinstance(option.default, bool)
        if not equals and not is_switch:
            value = next(left, "-")
        if value.startswith("-") or (equals and is_switch):
            return None
        if option.name in values and not isinstance(option.default, tuple):
            return None
        values.setdefault(option.name, []).append(value)
    given: dict[str, object] = {"seeds": tuple(seeds) or None}
    for option in OPTIONS:  # in their order, so that of several mistakes the same one is told
        if option.name in values:
            texts = values[option.name]
            is_list, is_switch = isinstance(option.default, tuple), isinstance(option.default, bool)
            given[option.name] = tuple(texts) if is_list else is_switch or texts[0]
    return given
