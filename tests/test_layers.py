"""The direction of imports: a room of the house uses only the rooms above it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import gossamer

ROOMS = (
    *("version", "model", "config", "urls", "policy", "download", "content", "channel", "stores"),
    *("modules", "frontier", "outputs", "worker", "coordinator", "views", "display", "testing"),
    "cli",
)
STRANGERS = {"download", "content", "frontier"}
"""Rooms that never use each other: they meet in `worker`."""

DOORS = {"__init__", "__main__"}
"""The ways into the house: they may use every room."""

PACKAGE = Path(gossamer.__file__).parent


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole path"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "gossamer" and len(parts) > 1 and parts[1] in ROOMS:
                yield parts[1]


def wrong_imports(room: str, source: str) -> list[str]:
    allowed = set(ROOMS[: ROOMS.index(room) + 1])
    if room in STRANGERS:
        allowed -= STRANGERS - {room}
    return [f"{room} imports {other}" for other in imported_rooms(source) if other not in allowed]


def test_every_import_goes_up_the_list() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}: {complaint}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if room_of(path) not in DOORS
        for complaint in wrong_imports(room_of(path), path.read_text(encoding="utf-8"))
    ]
    assert wrong == []


def test_every_room_is_on_the_list() -> None:
    found = {room_of(path) for path in PACKAGE.rglob("*.py")} - DOORS
    assert found <= set(ROOMS)


def test_the_test_itself_sees_a_wrong_import() -> None:
    assert wrong_imports("urls", "from gossamer.policy import robots") == ["urls imports policy"]
    assert wrong_imports("content", "import gossamer.download.client") == [
        "content imports download"
    ]
    assert wrong_imports("worker", "from gossamer import content, model") == []
