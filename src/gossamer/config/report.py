"""The options for people to read: those in effect with their origins, and the reference table."""

import msgspec

from gossamer.config.declaration import Option
from gossamer.config.options import OPTIONS
from gossamer.config.sources import Loaded


class Setting(msgspec.Struct, frozen=True):
    """One effective option."""

    name: str
    value_text: str
    """The value as the option is written; a secret is masked."""
    origin: str
    help: str


def describe(loaded: Loaded) -> list[Setting]:
    """Return the effective options, in the order of the help page."""
    return [
        Setting(
            option.name,
            option.show(getattr(loaded.options, option.field)),
            loaded.origins[option.name],
            option.help,
        )
        for option in OPTIONS
    ]


def options_markdown() -> str:
    """Return the Markdown tables of all options, one per group, for the documentation."""
    head = "| option | default | TOML key | variable | meaning |\n|---|---|---|---|---|"
    lines = []
    for group in dict.fromkeys(option.group for option in OPTIONS):
        rows = [_row(option) for option in OPTIONS if option.group == group]
        lines += [f"### {group}", "", head, *rows, ""]
    return "\n".join(lines)


def _row(option: Option) -> str:
    names = [option.flag, option.show(option.default), option.name, option.variable]
    if option.is_table:
        names[0], names[2] = "TOML only", f'[{option.name}."PATTERN"]'
    if option.alias:
        names[0] += f" {option.alias}"
    cells = [*(f"`{name}`" for name in names), option.help.replace("|", r"\|")]
    return f"| {' | '.join(cells)} |"
