"""How many pages a crawler says, or shows, that it has fetched."""

import json
import subprocess
import sys
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("gossamer"))


def count_kept(folder: Path) -> int:
    status = [COMMAND, "status", "--dir", f"{folder}/crawl", "--json"]
    told = subprocess.run(status, capture_output=True, text=True, check=True)
    return int(json.loads(told.stdout)["pages"])


def count_items(folder: Path) -> int:
    lines = (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    return len({json.loads(line)["url"] for line in lines})


def count_files(folder: Path) -> int:
    return sum(1 for file in (folder / "files").rglob("*") if file.is_file())
