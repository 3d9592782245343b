from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.config import OPTIONS, CrawlOptions, Option, load
from gossamer.model.errors import UsageError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "crawl.toml"


def refusal(
    command_line: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> str:
    with pytest.raises(UsageError) as caught:
        load(command_line or {}, environment or {}, file)
    return str(caught.value)


def toml_refusal(file: Path, text: str) -> str:
    file.write_text(text, encoding="utf-8")
    return refusal(file=file).replace(str(file), "FILE")


def test_without_sources_everything_is_default() -> None:
    loaded = load({}, {"PATH": "/bin", "GOSSAMER_DOCS": "/x"})
    assert loaded.options == CrawlOptions()
    assert loaded.origins == {option.name: "default" for option in OPTIONS}


@pytest.mark.parametrize(
    ("sources", "delay_s", "origin"),
    [
        ("", 1.0, "default"),
        ("file", 2.0, "FILE, line 3"),
        ("environment", 3.0, "GOSSAMER_DELAY"),
        ("environment file", 3.0, "GOSSAMER_DELAY"),
        ("command", 4.0, "--delay"),
        ("command file", 4.0, "--delay"),
        ("command environment", 4.0, "--delay"),
        ("command environment file", 4.0, "--delay"),
    ],
)
def test_the_strongest_source_wins(file: Path, sources: str, delay_s: float, origin: str) -> None:
    file.write_text("# mine\nworkers = 2\ndelay = '2s'\n", encoding="utf-8")
    loaded = load(
        {"delay": "4s"} if "command" in sources else {"delay": None},
        {"GOSSAMER_DELAY": "3s"} if "environment" in sources else {},
        file if "file" in sources else None,
    )
    assert loaded.options.delay_s == delay_s
    assert loaded.origins["delay"].replace(str(file), "FILE") == origin
    assert loaded.options.workers == (2 if "file" in sources else None)


def test_a_file_sets_every_form_of_value(file: Path) -> None:
    file.write_text(
        """
seeds = ["http://a/", "http://b/"]
max_pages = 20_000
max-bytes = "1GB"
max-page-bytes = 64000
delay = 0
similarity = 0.75
depth = 3
fresh = true
module = "save"
store = "memory:"
"exclude" = ['\\.pdf$', 'a{1,2}']
log-format = "json"
""",
        encoding="utf-8",
    )
    loaded = load({}, {}, file)
    options = loaded.options
    assert options.seeds == ("http://a/", "http://b/")
    assert (options.max_pages, options.max_bytes, options.max_page_bytes) == (20_000, 10**9, 64_000)
    assert (options.delay_s, options.similarity, options.depth, options.fresh) == (0, 0.75, 3, True)
    assert (options.module, options.exclude) == (("save",), (r"\.pdf$", "a{1,2}"))
    assert (str(options.store), options.log_format) == ("memory:", "json")
    assert loaded.origins["max-pages"] == f"{file}, line 3"
    assert loaded.origins["exclude"] == f"{file}, line 12"


def test_words_switch_off_what_a_weaker_source_sets(file: Path) -> None:
    file.write_text("depth = 3\nexclude = ['x']\ncontact = 'me@a.org'\n", encoding="utf-8")
    environment = {"GOSSAMER_DEPTH": "none", "GOSSAMER_SIMILARITY": "off"}
    loaded = load({"exclude": ("none",), "contact": "none"}, environment, file)
    options = loaded.options
    assert (options.depth, options.similarity, options.exclude, options.contact) == (
        None,
        None,
        (),
        None,
    )
    assert loaded.origins["depth"] == "GOSSAMER_DEPTH"


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("GOSSAMER_SEEDS", "http://a/?x=1,2  http://b/", "seeds", ("http://a/?x=1,2", "http://b/")),
        ("GOSSAMER_INCLUDE", "a{1,2} b", "include", ("a{1,2}", "b")),
        ("GOSSAMER_ALLOW_NETWORK", "10.0.0.0/8,::1 x", "allow_network", ("10.0.0.0/8", "::1", "x")),
        ("GOSSAMER_FRESH", "1", "fresh", True),
        ("GOSSAMER_FRESH", "False", "fresh", False),
        ("GOSSAMER_MARKERS", "<!-- CONTENT -->", "markers", "<!-- CONTENT -->"),
        ("GOSSAMER_WORKERS", " 4\n", "workers", 4),
        ("GOSSAMER_WORKERS", "", "workers", None),
        ("GOSSAMER_WORKERS", "auto", "workers", None),
        ("GOSSAMER_SCOPE", "prefix", "scope", "prefix"),
    ],
)
def test_variables(variable: str, text: str, field: str, value: object) -> None:
    loaded = load({}, {variable: text})
    assert getattr(loaded.options, field) == value
    name = variable.removeprefix("GOSSAMER_").lower().replace("_", "-")
    assert loaded.origins[name] == (variable if text else "default")


def test_a_repeated_option_is_a_list_of_whole_texts() -> None:
    loaded = load(
        {"module": ("./my file.py:f", "save"), "max_pages": "5"}, {"GOSSAMER_MODULE": "x"}
    )
    assert loaded.options.module == ("./my file.py:f", "save")
    assert loaded.origins["max-pages"] == "--max-pages"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "ttl = '5s'",
            "the key 'ttl' (FILE, line 1) is now two: --revisit TIME fetches a URL again if a link "
            "to it is found after that time, and --keep TIME says how long bodies are kept",
        ),
        ("dely = '1s'", "the key 'dely' (FILE, line 1) is unknown: the nearest valid one is delay"),
        (
            "\nmax_page = 1",
            "the key 'max-page' (FILE, line 2) is unknown: the nearest valid one is max-pages",
        ),
        (
            "workers = 1\n[politeness]\ndely = '1s'",
            "the table 'politeness' (FILE, line 2) is unknown: write options, such as delay, at "
            "the top of the file, without a table",
        ),
        (
            "[crawl]\ndelay = '1s'",
            "the table 'crawl' (FILE, line 1) is unknown: write options, such as delay, at "
            "the top of the file, without a table",
        ),
        (
            "max-pages = 1\nmax_pages = 2",
            "max-pages is set twice (FILE, line 1; FILE, line 2): remove one",
        ),
        (
            "config = 'x'",
            "the key 'config' (FILE, line 1) is unknown: only --config names a configuration file",
        ),
        (
            "delay = 'abc'",
            "delay 'abc' (FILE, line 1) is not a duration, such as 500ms, 2s, 5m, or auto",
        ),
        ("delay = 1", "delay '1' (FILE, line 1) is not a duration, such as 500ms, 2s, 5m, or auto"),
        (
            "delay = nan",
            "delay 'nan' (FILE, line 1) is not a duration, such as 500ms, 2s, 5m, or auto",
        ),
        (
            "workers = 'two'",
            "workers 'two' (FILE, line 1) must be a whole number from 0 to 1000, or auto",
        ),
        (
            "workers = true",
            "workers True (FILE, line 1) must be a whole number from 0 to 1000, or auto",
        ),
        (
            "similarity = true",
            "similarity True (FILE, line 1) must be a number above 0 and up to 1, such as 0.9, "
            "or off",
        ),
        (
            "dir = true",
            "dir True (FILE, line 1) must be one line of printable text, or auto",
        ),
        (
            "seeds = [['x']]",
            "seeds (FILE, line 1) has ['x'], which must be one line of printable text",
        ),
        (
            "max-bytes = -5",
            "max-bytes '-5' (FILE, line 1) is not a size, such as 500kB, 50MB, 64KiB",
        ),
        (
            "delay = ",
            "the configuration file FILE is not valid TOML: Invalid value (at end of document)",
        ),
    ],
)
def test_a_bad_file_is_refused_with_the_remedy(file: Path, text: str, message: str) -> None:
    assert toml_refusal(file, text) == message


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    assert refusal(file=tmp_path / "no.toml") == (
        f"cannot read the configuration file {tmp_path / 'no.toml'}: No such file or directory"
    )
    assert "Is a directory" in refusal(file=tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"contact = '\xe9'")
    assert "is not valid TOML" in refusal(file=tmp_path / "latin.toml")
    (tmp_path / "huge.toml").write_text("workers = " + "9" * 5000, encoding="utf-8")
    assert "huge.toml" in refusal(file=tmp_path / "huge.toml")


def test_a_file_with_a_byte_order_mark_is_read(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbfworkers = 3\r\n")
    assert load({}, {}, file).options.workers == 3


def test_no_file_is_read_that_was_not_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.with_name("gossamer.toml").write_text("workers = 7", encoding="utf-8")
    monkeypatch.chdir(file.parent)
    assert load({}, {}).options.workers is None


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("GOSSAMER_DELAI", "the nearest valid one is GOSSAMER_DELAY"),
        ("GOSSAMER_MAXPAGES", "the nearest valid one is GOSSAMER_MAX_PAGES"),
        ("GOSSAMER_DELAY_S", "the nearest valid one is GOSSAMER_DELAY"),
        ("GOSSAMER_CONFIG", "only --config names a configuration file"),
    ],
)
@pytest.mark.parametrize("value", ["1s", ""])
def test_an_unknown_variable_is_refused(name: str, hint: str, value: str) -> None:
    assert refusal(environment={name: value}) == f"the variable {name} is unknown: {hint}"


def test_a_retired_variable_is_refused_with_what_took_its_place() -> None:
    with pytest.raises(UsageError, match="the variable GOSSAMER_TTL is now two: --revisit TIME"):
        load({}, {"GOSSAMER_TTL": "5s"})


def test_an_unknown_option_is_refused() -> None:
    assert refusal({"work": "3"}) == (
        "the option 'work' is unknown: the nearest valid one is workers"
    )


def test_a_wrong_value_is_told_even_when_it_is_overridden() -> None:
    assert refusal({"delay": "1s"}, {"GOSSAMER_DELAY": "soon"}) == (
        "delay 'soon' (GOSSAMER_DELAY) is not a duration, such as 500ms, 2s, 5m, or auto"
    )


def test_a_wrong_item_of_a_repeated_option() -> None:
    assert refusal({"exclude": ("a", "*")}).startswith(
        "exclude (--exclude) has '*', which is not a regular expression: "
    )


def test_a_conflict_tells_where_both_sides_come_from() -> None:
    message = refusal({"host-connections": "4"}, {"GOSSAMER_DELAY": "2s"})
    assert message.endswith("(host-connections: --host-connections, delay: GOSSAMER_DELAY)")
    assert refusal({"host-connections": "4"}).endswith("delay: default)")


def test_a_secret_is_not_in_the_message() -> None:
    message = refusal(environment={"GOSSAMER_PAGERANK_KEY": "geh\teim"})
    assert message.startswith("pagerank-key (GOSSAMER_PAGERANK_KEY) must be")
    assert "eim" not in message


WORDS = st.text("abcXYZ019./:-_", min_size=1, max_size=12).filter(lambda word: word != "none")
SOME_OPTIONS = st.builds(
    CrawlOptions,
    seeds=st.lists(WORDS, max_size=3).map(tuple),
    scope=st.sampled_from(["host", "domain", "prefix", "any"]),
    depth=st.none() | st.integers(0, 1000),
    delay_s=st.just(0.0) | st.floats(0.001, 86_400),
    max_bytes=st.integers(1, 10**15),
    similarity=st.none() | st.floats(0, 1, exclude_min=True),
    revisit_s=st.none() | st.floats(1.0, 8760 * 3600.0),
    keep_s=st.none() | st.just("forever") | st.floats(1.0, 8760 * 3600.0),
    contact=st.none() | WORDS,
    fresh=st.booleans(),
    ignore_robots=st.lists(WORDS.filter(lambda word: "/" not in word), max_size=3).map(tuple),
)


@settings(max_examples=200, deadline=None)
@given(SOME_OPTIONS)
def test_options_survive_being_written_as_variables(options: CrawlOptions) -> None:
    environment = {
        option.variable: option.kind.show(getattr(options, option.field)) for option in OPTIONS
    }
    assert load({}, environment).options == options


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(OPTIONS), st.text(max_size=30))
def test_any_text_is_a_value_or_a_usage_error(option: Option, text: str) -> None:
    with suppress(UsageError):
        load({}, {option.variable: text})
        return
    message = refusal(environment={option.variable: text})
    assert option.name in message
    assert message.isprintable()


@pytest.mark.req("F8")
@pytest.mark.parametrize("name", ["qwfp", "GOSSAMER_XYZZY"])
def test_a_name_that_is_like_none_gets_no_guess(name: str) -> None:
    with pytest.raises(UsageError) as raised:
        load({name: "1"} if name.islower() else {}, {} if name.islower() else {name: "1"})
    assert str(raised.value).endswith("is unknown: 'gossamer crawl --help' lists the options")
