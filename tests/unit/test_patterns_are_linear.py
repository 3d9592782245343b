"""No regular expression of ours takes long on any text that the web can send."""

import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Callable, Iterator

import pytest

import gossamer

LENGTH = 10_000
MUST_END_WITHIN_S = 0.3
"""Of CPU: a linear pattern takes a thousandth of it, a quadratic one a multiple."""
COMMON = " \t\n\r<>/=&;:,.-_%\"'()[]0a*#@"
USES = {"match": "match", "fullmatch": "fullmatch", "search": "search"}
USES |= dict.fromkeys(["sub", "findall", "finditer", "split"], "search")

Attempt = Callable[[str], object]


def attempts() -> Iterator[tuple[str, str, Attempt]]:
    """Yield each pattern of a module, in the ways that the module uses it."""
    for found in pkgutil.walk_packages(gossamer.__path__, "gossamer."):
        if found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        source = inspect.getsource(module)
        for name, pattern in vars(module).items():
            if isinstance(pattern, re.Pattern):
                for use in {USES[one] for one in USES if f"{name}.{one}(" in source}:
                    text = pattern.pattern
                    is_text = isinstance(text, str)
                    tried = getattr(pattern, use)
                    yield (
                        f"{found.name}.{name}.{use}",
                        text if is_text else text.decode("latin-1"),
                        tried if is_text else on_bytes(tried),
                    )


def on_bytes(attempt: Callable[[bytes], object]) -> Attempt:
    return lambda text: attempt(text.encode("latin-1"))


def longest_s(written: str, attempt: Attempt) -> tuple[float, str]:
    """Return the longest time for a text of one letter, or two, and a misfit at its end."""
    letters = sorted({*COMMON, *(one for one in written if one.isascii() and one.isprintable())})
    texts = [letter * LENGTH + "\x00" for letter in letters]
    texts += [f"{one}{other}" * (LENGTH // 2) + "\x00" for one in "<a &;" for other in '>= "/']
    times = []
    for text in texts:
        begun = time.process_time()
        attempt(text)
        times.append((time.process_time() - begun, text[:4]))
    return max(times)


@pytest.mark.req("D19")
def test_none_is_slow_on_a_text_that_was_made_for_it() -> None:
    slow = {name: longest_s(written, attempt) for name, written, attempt in attempts()}
    assert len(slow) > 40
    assert {name: one for name, one in slow.items() if one[0] > MUST_END_WITHIN_S} == {}
