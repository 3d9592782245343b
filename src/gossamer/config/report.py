"""The options as people read them: what is in force and why, and what there is."""

import msgspec

from gossamer.config.declaration import Group, Option
from gossamer.config.options import OPTIONS
from gossamer.config.sources import Loaded


class Setting(msgspec.Struct, frozen=True):
    """One option as it is in force."""

    name: str
    value_text: str
    """The value as the option is written; a secret is masked."""
    origin: str
    help: str


def describe(loaded: Loaded) -> list[Setting]:
    """Return what is in force, in the order of the help page."""
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
    """Return a Markdown table of all options for each group, as the documentation has it."""
    return "\n".join(_group_table(group) for group in Group)


def _group_table(group: Group) -> str:
    lines = [
        f"### {group}",
        "",
        "| option | default | TOML key | variable | meaning |",
        "|---|---|---|---|---|",
        *(_row(option) for option in OPTIONS if option.group is group),
        "",
    ]
    return "\n".join(lines)


def _row(option: Option) -> str:
    names = [option.flag, option.show(option.default), option.name, option.variable]
    if option.alias:
        names[0] += f" {option.alias}"
    cells = [*(f"`{name}`" for name in names), option.help.replace("|", r"\|")]
    return f"| {' | '.join(cells)} |"
