"""Write docs/reference.md from the code: pages, hooks and results, with their own words."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from inspect import cleandoc
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference.md"
SOURCE = ROOT / "src" / "gossamer"

HEAD = """\
# Reference: pages, hooks and results

What a module is given and what it may return, as the code says. How to write one is explained in
[modules.md](modules.md).

Written by `make docs`; do not edit this page by hand.

"""


class Section(NamedTuple):
    """A part of the page: classes of one file, all public ones unless they are named."""

    title: str
    """Empty: the section before goes on."""
    file: str
    classes: tuple[str, ...] = ()
    with_words: bool = False
    """Whether it begins with what the file says about itself."""


HOOKS = (
    *("ModuleContext", "Opens", "TakesPages", "ChoosesLinks", "SeesEnds", "FollowsDepth", "Closes"),
)
SECTIONS = (
    Section("Pages", "model/page.py", ("Page",)),
    Section("", "model/response.py", ("Headers", "Exchange")),
    Section("What a page says", "model/page.py", ("Metadata", "MicrodataItem", "Table")),
    Section("Modules and their hooks", "modules/contract.py", HOOKS, with_words=True),
    Section("What hooks are given", "modules/contract.py", ("FollowedLink", "FinishedUrl")),
    Section("Results", "stores/url_record.py", ("Record", "Result")),
    Section("How a URL ends", "model/outcome.py", ("Outcome",)),
)
INTERNAL = {"Page.document", "Page.coded_body", "Headers.read", "Module"}
"""What is public in the code and not for modules."""


def text() -> str:
    """Return the page."""
    parts = [part for section in SECTIONS for part in _section(section)]
    return HEAD + "\n\n".join(parts) + "\n"


def _section(section: Section) -> Iterator[str]:
    tree = ast.parse((SOURCE / section.file).read_text(encoding="utf-8"))
    if section.title:
        yield f"## {section.title}"
    if section.with_words:
        yield cleandoc(ast.get_docstring(tree) or "")
    classes = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}
    for name in section.classes or [one for one in classes if not one.startswith("_")]:
        if name not in INTERNAL:
            yield from _class(classes[name], classes)


def _class(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> Iterator[str]:
    bases = [
        classes[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in classes
    ]
    yield f"### {node.name}"
    yield cleandoc(ast.get_docstring(node) or "")
    if rows := [*_fields(node, bases)]:
        yield "\n".join(["| field | type | |", "|---|---|---|", *rows])
    if members := [*_members(node)]:
        yield ", ".join(members) + "."
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and not _is_property(one) and _is_told(node, one.name):
            yield f"**`{one.name}{_signature(one)}`**"
            yield cleandoc(ast.get_docstring(one) or "")


def _is_told(node: ast.ClassDef, name: str) -> bool:
    return not name.startswith("_") and f"{node.name}.{name}" not in INTERNAL


def _fields(node: ast.ClassDef, bases: Sequence[ast.ClassDef]) -> Iterator[str]:
    """Yield the rows of fields, and of properties, which are used like fields."""
    fields = [*takewhile(lambda one: not isinstance(one, ast.FunctionDef), node.body)]
    inherited = [one for base in bases for one in base.body]
    body = [*fields, *inherited, *node.body[len(fields) :]]
    for one, after in zip(body, [*body[1:], None], strict=True):
        match one:
            case ast.AnnAssign(target=ast.Name(id=name)):
                kind, words = ast.unparse(one.annotation), _words(after)
            case ast.FunctionDef(name=name) if _is_property(one) and one.returns is not None:
                kind, words = ast.unparse(one.returns), ast.get_docstring(one) or ""
            case _:
                continue
        if _is_told(node, name):
            shown = kind.strip("'").replace("|", r"\|")
            yield f"| `{name}` | `{shown}` | {' '.join(words.split())} |"


def _words(after: ast.stmt | None) -> str:
    """Return what is said of a field right after it."""
    match after:
        case ast.Expr(value=ast.Constant(value=str(words))):
            return words
    return ""


def _members(node: ast.ClassDef) -> Iterator[str]:
    for one in node.body:
        match one:
            case ast.Assign(value=ast.Constant(value=str(value))):
                yield f"`{value}`"


def _is_property(node: ast.stmt) -> bool:
    names = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return any(isinstance(one, ast.Name) and one.id == "property" for one in names)


def _signature(node: ast.FunctionDef) -> str:
    arguments = ast.unparse(node.args).removeprefix("self").removeprefix(", ").removesuffix(", /")
    arguments = "" if arguments == "/" else arguments
    returned = ast.unparse(node.returns).strip("'") if node.returns else "None"
    return f"({arguments}) -> {returned}"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
