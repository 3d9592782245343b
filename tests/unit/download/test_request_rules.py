"""How options and rules of a crawl become settings of requests, and secrets that are missing."""

from pathlib import Path

import msgspec
import pytest
import trustme

from gossamer.config import CrawlOptions
from gossamer.config.request_values import Secret
from gossamer.coordinator.plan import Plan, request_rules
from gossamer.coordinator.resume import pack_options, unpack_options
from gossamer.download.request_settings import RequestSettings
from gossamer.model import Url
from gossamer.model.errors import UsageError

SEED = "https://a.test/"


def plan_of(**given: object) -> Plan:
    return Plan(CrawlOptions(seeds=(SEED,), **given))  # type: ignore[arg-type]  # as from a file


def settings(plan: Plan, url: str, **environment: str) -> RequestSettings:
    rules = request_rules(plan.options, environment)
    assert rules is not None
    return rules.settings_for(Url(url))


def test_without_rules_there_are_no_settings() -> None:
    assert request_rules(plan_of(user_agent="Other/1", delay_s=0.0).options, {}) is None


@pytest.mark.parametrize(
    ("secret", "sent"),
    [
        ("me:pass:word", "Basic bWU6cGFzczp3b3Jk"),
        ("me:pässword", "Basic bWU6cMOkc3N3b3Jk"),
        ("me: pass ", "Basic bWU6IHBhc3Mg"),
        ("abc.def", "Bearer abc.def"),
        ("bearer a:b", "Bearer a:b"),
    ],
)
def test_a_login_is_basic_or_a_bearer_token(secret: str, sent: str) -> None:
    found = settings(plan_of(auth="env:LOGIN"), SEED, LOGIN=secret)
    assert found.secret_fields == (("Authorization", Secret(sent)),)


@pytest.mark.parametrize(
    "url", ["http://a.test/", "https://a.test:8443/", "https://b.test/", "https://x.a.test/"]
)
def test_options_that_say_who_we_are_are_for_the_seeds_origins(url: str) -> None:
    plan = plan_of(
        auth="env:LOGIN",
        header=("X-A: b",),
        secret_header=("X-K: env:KEY",),
        proxy="http://p.test:1",
    )
    secrets = {"LOGIN": "token", "KEY": "k"}
    assert len(settings(plan, f"{SEED}some/page?x=y", **secrets).secret_fields) == 2
    other = settings(plan, url, **secrets)
    assert (other.fields, other.secret_fields) == ((), ())
    assert other.connection.proxy == "http://p.test:1"


def test_a_rule_wins_over_an_option_with_all_of_its_family() -> None:
    plan = plan_of(
        auth="env:LOGIN",
        proxy="http://p.test:1",
        proxy_auth="env:PROXY",
        header=("X-A: option", "X-B: option"),
        host={"a.test": {"proxy": "http://q.test:2", "header": ["X-A: rule"], "http2": "yes"}},
    )
    found = settings(plan, SEED, LOGIN="token", PROXY="me:pw")
    assert (found.connection.proxy, found.connection.proxy_login) == ("http://q.test:2", None)
    assert (found.fields, found.connection.http2) == ((("X-A", "rule"),), True)
    assert found.secret_fields == (("Authorization", Secret("Bearer token")),)
    elsewhere = settings(plan, "https://b.test/", LOGIN="token", PROXY="me:pw").connection
    assert elsewhere.proxy_login is not None
    assert (elsewhere.proxy_login.user, elsewhere.proxy_login.password) == ("me", Secret("pw"))


@pytest.mark.parametrize(
    ("given", "environment", "words"),
    [
        ({"auth": "env:A"}, {}, "auth needs the environment variable A, which is not set"),
        ({"auth": "env:A"}, {"A": " "}, "which is not set"),
        ({"auth": "env:A"}, {"A": "s3cret\r\nX: y"}, "must hold one line of printable text"),
        ({"auth": "env:A"}, {"A": "s3cretü"}, "its value must be ASCII"),
        ({"secret_header": ("X: env:A",)}, {"A": "s3cret\0"}, "one line of printable text"),
        ({"secret_header": ("X: env:A",)}, {"A": "s3cretü"}, "secret-header X is sent in a header"),
        ({"proxy": "http://p.test:1", "proxy_auth": "env:A"}, {"A": "s3cret"}, "user:password"),
        ({"auth": "file:/nowhere/token"}, {}, "auth needs the file /nowhere/token: No such"),
        ({"ca_file": "/nowhere/ca"}, {}, "ca-file /nowhere/ca: No such file"),
        ({"client_cert": "/nowhere/c"}, {}, "client-cert /nowhere/c, key /nowhere/c: No such"),
        (
            {"host": {"b.test": {"auth": "env:B"}}},
            {},
            'auth of [host."b.test"] needs the environment variable B',
        ),
    ],
)
def test_what_is_missing_is_named_before_the_start(
    given: dict[str, object], environment: dict[str, str], words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        request_rules(plan_of(**given).options, environment)
    assert words in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_files_that_are_no_secrets_or_certificates(tmp_path: Path) -> None:
    empty, long, binary = (tmp_path / name for name in ("empty", "long", "binary"))
    empty.write_text("\n", encoding="utf-8")
    long.write_text("x" * 20_000, encoding="utf-8")
    binary.write_bytes(b"\xff\xfe\0")
    for file in (empty, long, binary):
        with pytest.raises(UsageError, match=r"auth (needs|must hold)|for auth"):
            request_rules(plan_of(auth=f"file:{file}").options, {})
    with pytest.raises(UsageError, match="has no certificates in PEM form"):
        request_rules(plan_of(ca_file=str(long)).options, {})
    with pytest.raises(UsageError, match="do not go together"):
        request_rules(plan_of(client_cert=str(long)).options, {})


def test_an_encrypted_key_is_refused_without_asking_for_its_password(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 -- trustme has it

    leaf = trustme.CA().issue_cert("me@client.test")
    key = serialization.load_pem_private_key(leaf.private_key_pem.bytes(), None)
    (tmp_path / "key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"pw"),
        )
    )
    leaf.cert_chain_pems[0].write_to_path(tmp_path / "cert")
    plan = plan_of(client_cert=str(tmp_path / "cert"), client_key=str(tmp_path / "key"))
    with pytest.raises(UsageError, match="the key is encrypted: store it without a password"):
        request_rules(plan.options, {})


def test_a_secret_is_in_nothing_that_is_kept_or_shown() -> None:
    plan = plan_of(auth="env:LOGIN")
    found = settings(plan, SEED, LOGIN="me:s3cret")
    assert "s3cret" not in f"{found!r} {found.secret_fields} {plan.options!r}"
    for encode in (msgspec.json.encode, msgspec.msgpack.encode):
        with pytest.raises(TypeError):
            encode(found)
    note = pack_options(plan.options)
    assert b"s3cret" not in note
    assert unpack_options(note, CrawlOptions()).auth == "env:LOGIN"
