import json
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.frontier.scorers.pagerank import (
    MAX_ANSWER_BYTES,
    MAX_DOMAINS,
    Answer,
    Endpoint,
    Failure,
    batches,
    is_public_name,
)
from gossamer.model import Headers
from gossamer.model.errors import UsageError

pytestmark = pytest.mark.req("D4")

OLD = Endpoint("s3cret")
NEW = Endpoint("opr_live_s3cret")
ASKED = ["google.com", "apple.com", "nowhere.example"]

OLD_ANSWER = {
    "status_code": 200,
    "response": [
        {
            "status_code": 200,
            "error": "",
            "page_rank_integer": 10,
            "page_rank_decimal": 10,
            "rank": "6",
            "domain": "google.com",
        },
        {
            "status_code": 200,
            "error": "",
            "page_rank_integer": 8,
            "page_rank_decimal": 7.63,
            "rank": "40",
            "domain": "Apple.com",
        },
        {
            "status_code": 404,
            "error": "Domain not found",
            "page_rank_integer": 0,
            "page_rank_decimal": 0,
            "rank": None,
            "domain": "nowhere.example",
        },
    ],
    "last_updated": "28th Mar 2026",
}
NEW_ANSWER = {
    "as_of": "2026-08-01",
    "count": 3,
    "results": [
        {"domain": "google.com", "found": True, "open_page_rank": 10, "rank": 6},
        {"domain": "apple.com", "found": True, "open_page_rank": 7.63, "rank": 40},
        {"domain": "nowhere.example", "found": False, "open_page_rank": None, "rank": None},
    ],
    "invalid": [],
}


def answer(document: object, status: int = 200, **headers: str) -> Answer:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    fields = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Answer(status, Headers(fields), body)


def test_the_older_service_is_asked_by_get_with_its_own_header() -> None:
    question = OLD.question(["a.com", "b.co.uk"])
    url = urlsplit(question.url)
    assert f"{url.scheme}://{url.netloc}{url.path}" == (
        "https://openpagerank.com/api/v1.0/getPageRank"
    )
    assert parse_qs(url.query) == {"domains[]": ["a.com", "b.co.uk"]}
    assert question.headers["API-OPR"] == "s3cret"
    assert question.body is None


def test_the_newer_service_is_asked_by_post_with_a_bearer() -> None:
    question = NEW.question(["a.com", "b.co.uk"])
    assert question.url == "https://openpagerank.keywordseverywhere.com/v1/domains/bulk"
    assert question.headers["Authorization"] == "Bearer opr_live_s3cret"
    assert question.body is not None
    assert json.loads(question.body) == {"domains": ["a.com", "b.co.uk"], "include_history": False}


def test_the_service_may_be_elsewhere() -> None:
    question = Endpoint("s3cret", "http://127.0.0.1:8080/").question(["a.com"])
    assert question.url.startswith("http://127.0.0.1:8080/api/v1.0/getPageRank?")


@pytest.mark.parametrize(("endpoint", "document"), [(OLD, OLD_ANSWER), (NEW, NEW_ANSWER)])
def test_an_answer_has_a_rank_for_every_domain_that_is_listed(
    endpoint: Endpoint, document: object
) -> None:
    ranks = endpoint.read(answer(document), ASKED)
    assert ranks == {"google.com": 10.0, "apple.com": 7.63, "nowhere.example": None}


def test_a_domain_that_is_missing_is_not_listed_and_one_that_nobody_asked_for_is_ignored() -> None:
    ranks = OLD.read(answer(OLD_ANSWER), ["google.com", "missing.com"])
    assert ranks == {"google.com": 10.0, "missing.com": None}


@pytest.mark.parametrize("rank", ["7", None, -1, 10.1, 10**30, True, [], {"a": 1}])
def test_a_rank_that_is_none_counts_as_not_listed(rank: object) -> None:
    document = {
        "response": [
            {"status_code": 200, "domain": "google.com", "page_rank_decimal": rank},
            {"status_code": 200, "domain": "apple.com", "page_rank_decimal": 5},
        ]
    }
    assert OLD.read(answer(document), ASKED[:2]) == {"google.com": None, "apple.com": 5.0}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>Welcome to the hotel's network</html>",
        b"null",
        b"[]",
        b'"response"',
        b"{}",
        b'{"response": {}}',
        b'{"response": []}',
        b'{"response": [1, null, "x", [], {}, {"domain": 5}]}',
        b'{"response": [{"domain": "google.com", "page_rank_decimal": NaN}]}',
        b'{"response": [{"domain": "google.com", "page_rank_decimal": 1e999}]}',
        b'{"response": [{"domain": "\xff", "page_rank_decimal": 1}]}',
        b'{"response": ' + b"[" * 100_000,
        b'{"response": ' * 50_000,
        b'{"response": [{"status_code": 200, "domain": "google.com", "page_rank_decimal": 5}]}'
        + b" " * MAX_ANSWER_BYTES,
    ],
)
@pytest.mark.parametrize("endpoint", [OLD, NEW])
def test_garbage_is_a_failure_that_may_pass(endpoint: Endpoint, body: bytes) -> None:
    assert endpoint.read(answer(body), ASKED) == Failure("the answer makes no sense")


json_values = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.integers(),
    st.sampled_from(ASKED),
    st.text(max_size=3),
    st.just([]),
    st.just({"domain": {}}),
)
rows = st.fixed_dictionaries(
    {
        "domain": st.sampled_from(ASKED) | json_values,
        "status_code": st.just(200) | json_values,
        "found": st.just(True) | json_values,
        "page_rank_decimal": json_values,
        "open_page_rank": json_values,
    }
)
documents = st.dictionaries(
    st.sampled_from(["response", "results"]), json_values | st.lists(rows, max_size=3)
)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=30) | documents.map(lambda document: json.dumps(document).encode()))
def test_no_answer_raises_and_every_rank_is_from_0_to_10(body: bytes) -> None:
    for endpoint in (OLD, NEW):
        result = endpoint.read(answer(body), ASKED)
        if not isinstance(result, Failure):
            assert list(result) == ASKED
            assert all(rank is None or 0 <= rank <= 10 for rank in result.values())


@pytest.mark.parametrize(
    ("status", "headers", "hold_s"),
    [
        (500, {}, None),
        (502, {}, None),
        (408, {}, None),
        (503, {}, None),
        (503, {"retry_after": "7"}, 7),
        (429, {}, 60),
        (429, {"retry_after": "2"}, 2),
        (429, {"retry_after": "soon"}, 60),
        (429, {"retry_after": "-1"}, 60),
        (429, {"retry_after": "9" * 400}, 999_999_999),
        (429, {"retry_after": "Wed, 21 Oct 2026 07:28:00 GMT"}, 60),
        (
            429,
            {
                "date": "Wed, 21 Oct 2026 07:28:00 GMT",
                "retry_after": "Wed, 21 Oct 2026 07:28:07 GMT",
            },
            7,
        ),
        (401, {}, 600),
        (403, {}, 600),
        (404, {}, 600),
        (301, {"location": "https://elsewhere.example/"}, 600),
        (0, {}, 600),
    ],
)
def test_a_refusal_says_how_long_it_is_no_use_to_ask_again(
    status: int, headers: dict[str, str], hold_s: float | None
) -> None:
    result = OLD.read(answer(b"", status, **headers), ASKED)
    assert isinstance(result, Failure)
    assert str(status) in result.reason
    assert result.hold_s == hold_s


def test_a_wrong_key_is_called_so() -> None:
    result = OLD.read(answer({"message": "Invalid API Key"}, 401), ASKED)
    assert isinstance(result, Failure)
    assert "refused the key" in result.reason


def test_the_key_does_not_show() -> None:
    for endpoint in (OLD, NEW):
        shown = [repr(endpoint), str(endpoint), repr(endpoint.question(ASKED))]
        shown.append(repr(endpoint.read(answer(b"no such key: " + endpoint.key.encode()), ASKED)))
        shown.append(repr(endpoint.read(answer(endpoint.key.encode(), 401), ASKED)))
        assert not [text for text in shown if "s3cret" in text]


@pytest.mark.parametrize("key", ["", "s3cret\r\nHost: evil.example", "s3 cret", "s3cr\u00e9t"])
def test_a_key_that_cannot_stand_in_a_header_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(UsageError) as caught:
        Endpoint(key)
    assert "s3" not in str(caught.value)


@settings(deadline=None)
@given(st.lists(st.text(min_size=1, max_size=253), max_size=300, unique=True))
def test_batches_hold_everything_once_and_fit_into_a_question(domains: list[str]) -> None:
    portions = list(batches(domains))
    assert [domain for portion in portions for domain in portion] == domains
    for portion in portions:
        assert 1 <= len(portion) <= MAX_DOMAINS
        assert len(portion) == 1 or len(OLD.question(portion).url) < 8000


@pytest.mark.parametrize("url", ["openpagerank.com", "ftp://openpagerank.com", "//a.com"])
def test_an_address_that_is_no_url_is_refused_before_the_key_goes_anywhere(url: str) -> None:
    with pytest.raises(UsageError, match="must start with https://"):
        Endpoint("s3cret", url)


def test_a_hundred_names_of_full_length_are_more_than_one() -> None:
    domains = [
        f"{number:03}.{'x' * 60}.{'y' * 60}.{'z' * 60}.{'w' * 55}.com" for number in range(100)
    ]
    portions = list(batches(domains))
    assert [len(portion) for portion in portions] == [22, 22, 22, 22, 12]
    assert max(len(OLD.question(portion).url) for portion in portions) < 6500


def test_a_hundred_usual_domains_are_one_batch() -> None:
    domains = [f"a-rather-usual-name-{number}.co.uk" for number in range(250)]
    assert [len(portion) for portion in batches(domains)] == [100, 100, 50]


@pytest.mark.parametrize(
    ("domain", "public"),
    [
        ("example.com", True),
        ("xn--bcher-kva.example", True),
        ("someone.github.io", True),
        ("localhost", False),
        ("printer.local", False),
        ("wiki.internal", False),
        ("intranet", False),
        ("127.0.0.1", False),
        ("[::1]", False),
        ("[::ffff:1.2.3.4]", False),
        ("", False),
        (".", False),
        ("com.", False),
    ],
)
def test_only_public_names_are_asked_about(domain: str, public: bool) -> None:
    assert is_public_name(domain) is public
