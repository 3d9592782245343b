"""Lines of files of seeds, and the scope of very many of them."""

import pytest

from gossamer.model import Url
from gossamer.model.errors import UsageError
from gossamer.urls import Domains, Scope
from gossamer.urls.scope import scope_key
from gossamer.urls.seeds import SeedKeyCollector, SeedKeys, SeedLine, parse_seed_line

A = Url("https://a.example/")


@pytest.mark.parametrize(
    ("line", "seed"),
    [
        (b"https://a.example/\n", SeedLine(A)),
        (b"  HTTPS://A.example \t\r\n", SeedLine(A)),
        (b"https://a.example/ 2 80\n", SeedLine(A, 2, 80.0)),
        (b"https://a.example/\t0\t0.5", SeedLine(A, 0, 0.5)),
        (b"https://a.example/ - 80 # important", SeedLine(A, 0, 80.0)),
        (b"https://a.example/#part", SeedLine(A)),
        (b"\xef\xbb\xbfhttps://a.example/", SeedLine(A)),
        (b"\r\n", None),
        (b"  # https://a.example/", None),
    ],
)
def test_a_line(line: bytes, seed: SeedLine | None) -> None:
    assert parse_seed_line(line) == seed


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"a.example", "did you mean 'http://a.example'?"),
        (b"ftp://a.example/", "only http and https"),
        (b"https://me:secret@a.example/", "never sent"),
        (b"https://a.example/ x", "the depth 'x' is not a whole number"),
        (b"https://a.example/ -1", "the depth '-1' is not a whole number"),
        (b"https://a.example/ 0 101", "the score '101' is not a number from 0 (first)"),
        (b"https://a.example/ 0 nan", "the score 'nan' is not a number"),
        (b"https://a.example/ 0 1 2", "'2' is too much"),
        (b"\xff\xfe", "it is not UTF-8"),
    ],
)
def test_a_bad_line(line: bytes, words: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_seed_line(line)
    assert words in str(error.value)
    assert "secret" not in str(error.value)


def test_very_many_keys_are_found_again() -> None:
    names = [f"{number}.example" for number in range(50_000)]
    keys = SeedKeyCollector()
    for name in [*names, *names[::-7], *names]:
        keys.add(name)
    packed = keys.packed()
    found = SeedKeys(packed)
    assert (len(found), len(packed)) == (50_000, 400_000)
    assert all(name in found for name in names)
    assert not any(f"{number}.test" in found for number in range(50_000))


@pytest.mark.parametrize(
    ("kind", "inside", "outside"),
    [
        ("host", "http://www.a.example/z", "http://a.example/"),
        ("domain", "https://b.a.example:81/", "http://b.example/"),
        ("prefix", "http://www.a.example/x/y/z?q=/", "http://www.a.example/y/x/"),
    ],
)
def test_the_scope_of_seeds_in_files(kind: str, inside: str, outside: str) -> None:
    keys, domains = SeedKeyCollector(), Domains()
    keys.add(scope_key(kind, Url("http://www.a.example/x/page.html"), domains))  # type: ignore[arg-type]
    scope = Scope.for_seeds(kind, [], more=SeedKeys(keys.packed()))  # type: ignore[arg-type]
    assert scope.judge(Url(inside))
    assert not scope.judge(Url(outside))
