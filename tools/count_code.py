"""Files and lines of code by room: without blank lines, comments and docstrings.

`python tools/count_code.py` counts this tree; other roots may be given, to compare two versions.
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "gossamer"
NOT_CODE = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
)


def code_lines(text: str) -> int:
    """How many lines of a module hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        # A string that stands alone as a statement documents what it follows.
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def main() -> None:
    """Print a table of rooms for each root."""
    for root in [Path(argument) for argument in sys.argv[1:]] or [SOURCE]:
        files: Counter[str] = Counter()
        code: Counter[str] = Counter()
        for path in sorted(root.rglob("*.py")):
            inside = path.relative_to(root).parts
            room = inside[0] if len(inside) > 1 else "."
            files[room] += 1
            code[room] += code_lines(path.read_text())
        print(root)
        for room in files:
            print(f"  {room:<14}{files[room]:>5} files{code[room]:>8} lines of code")
        print(f"  {'all':<14}{files.total():>5} files{code.total():>8} lines of code")


if __name__ == "__main__":
    main()
