"""What is read without the library for command lines is read as the library would."""

import inspect

import cyclopts
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.cli.main import make_app
from gossamer.cli.plain import read_plainly
from gossamer.config import OPTIONS

FLAGS = [name for option in OPTIONS for name in (option.flag, option.alias) if name]
APP = make_app()

seeds = st.sampled_from(["http://a/", "http://b/?x=1 2", "", "crawl", "none", "a,b", "ü", "@file"])
values = seeds | st.sampled_from(["1", "0s", "-1", "-", "--", "-v", "-q", "true", "[1]", "{}"])
doubtful = st.sampled_from(
    ["--help", "-h", "--version", "--quit", "--no-quiet", "--ttl", "--", "-"]
)
inline = st.sampled_from(["--delay=1s", "--quiet=false", "--config", "--max_pages", "--host"])
flags = st.sampled_from(FLAGS)
joined = st.builds("{}={}".format, flags, values)
words = st.lists(flags | joined | values | doubtful | inline, max_size=6) | st.builds(
    lambda parts: [word for part in parts for word in part],
    st.lists(
        st.tuples(flags, values) | st.tuples(seeds) | st.tuples(flags) | st.tuples(joined),
        max_size=5,
    ),
)


def as_the_library_reads(arguments: list[str]) -> dict[str, object] | None:
    """Return what cyclopts passes to `crawl`, in its order; None if it refuses."""
    try:
        command, bound, _ = APP.parse_args(
            ["crawl", *arguments], exit_on_error=False, print_error=False
        )
    except cyclopts.CycloptsError:
        return None
    assert inspect.unwrap(command).__name__ == "crawl"
    return {"seeds": bound.args or None, **bound.kwargs}


def read_named(arguments: list[str]) -> dict[str, object] | None:
    """Return what is read here, by the names that the command has for it."""
    plain = read_plainly(arguments)
    return plain and {name.replace("-", "_"): value for name, value in plain.items()}


@settings(max_examples=300)
@given(words)
def test_a_plain_command_line_is_read_as_the_library_reads_it(arguments: list[str]) -> None:
    plain = read_named(arguments)
    if plain is not None:
        read = as_the_library_reads(arguments)
        assert read is not None
        assert list(plain.items()) == list(read.items())


def test_every_flag_can_be_read_plainly() -> None:
    for option in OPTIONS:
        for flag in (option.flag, option.alias):
            if flag and flag.startswith("-"):
                arguments = [flag] if isinstance(option.default, bool) else [flag, "1"]
                assert as_the_library_reads(arguments) == read_named(arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["http://a/", "-vq"],
        ["--delay="],
        ["-o=a.csv"],
        ["--quiet=false"],
        ["--delay"],
        ["--delay", "-1"],
        ["--dir", "a", "--dir", "b"],
        ["--no-quiet"],
        ["--config", "crawl.toml"],
        ["--delai", "1s"],
        ["--ttl", "1s"],
        ["--", "http://a/"],
    ],
    ids=" ".join,
)
def test_what_leaves_a_doubt_is_left_to_the_library(arguments: list[str]) -> None:
    assert read_plainly(arguments) is None
