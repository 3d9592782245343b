"""A page of the documentation whose tables a benchmark writes, each between two markers."""

import re
from pathlib import Path


def write_part(page: Path, name: str, text: str) -> None:
    """Replace what stands between the markers of that name."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    old = page.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    new, count = pattern.subn(lambda _: f"{begin}\n{text.strip()}\n{end}", old)
    if count != 1:
        raise ValueError(f"{page} has no single place for {name}")
    page.write_text(new, encoding="utf-8")
