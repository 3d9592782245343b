"""The state of a robots.txt: what an answer means, and for how long (RFC 9309, 2.3.1 and 2.4).

- An answer with a body: its rules are valid for 24 hours.
- "Unavailable" (a status of 400 to 499, or redirects that lead nowhere): everything is allowed,
  for 24 hours.
- "Unreachable" (429, 500 and above, no answer, a broken one): everything is forbidden until a later
  attempt succeeds. If there is a copy of the rules, it stays in force instead, for at most 30 days.
  The standard would then let a crawler fetch everything; we do not. With a 429 the server asks to
  be left alone, so it counts here, as it does with Google.

Cache-Control is ignored: on robots.txt it is mostly a default of the server's software, and a
crawler that fetched the file again every minute because of "no-cache" would be less polite, not
more.
"""

import zlib
from http import HTTPStatus
from typing import Any, Final

import msgspec

from gossamer.model import Cause, Outcome, Response, Url
from gossamer.policy.failures import asks_to_wait, retry_after_s
from gossamer.policy.robots import RobotsRules, RobotsVerdict, parse_robots, read_rule

MAX_AGE_S: Final = 24 * 3600.0
"""How long rules are valid: section 2.4 says no longer than this."""

MAX_STALE_AGE_S: Final = 30 * 24 * 3600.0
"""How long a copy is used while the file is unreachable."""

FIRST_RETRY_S: Final = 60.0
"""The pause after an answer that asks us to come back later."""
FIRST_NETWORK_RETRY_S: Final = 5.0
"""The pause after no answer, a failure that passes more often."""
MAX_RETRY_S: Final = 3600.0


class RobotsState(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What is known about the robots.txt of an authority."""

    rules: RobotsRules | None
    """The valid rules; None: the file is unreachable, and everything is forbidden for now."""
    check_at: float
    """When the file is to be fetched again."""
    copied_at: float | None = None
    """When the rules were fetched; None if they were not read from a file."""
    failures: int = 0
    """How many attempts in a row found the file unreachable."""
    trouble: str = ""
    """Why the last attempt failed, for people."""
    cause: Cause | None = None
    """Why the last attempt failed."""

    def judge(self, url: Url) -> RobotsVerdict:
        """Return whether this URL of the authority may be fetched now."""
        if self.rules is None:
            return RobotsVerdict(
                Outcome.ROBOTS_UNREACHABLE, self.trouble, self.check_at, self.cause
            )
        return self.rules.judge(url)


def decide_robots(
    response: Response,
    agent: str,
    previous: RobotsState | None,
    now: float,
    wall_s: float | None = None,
) -> RobotsState:
    """Return the state after this answer, the last one of a chain of redirects.

    `wall_s` is the same moment as `now`, in seconds since the epoch.
    """
    # An explicitly empty answer is a file without rules.
    empty = response.status in {HTTPStatus.NO_CONTENT, HTTPStatus.RESET_CONTENT}
    if empty or response.outcome is Outcome.FETCHED:
        rules = parse_robots(response.body, agent)
        return RobotsState(rules=rules, check_at=now + MAX_AGE_S, copied_at=now)
    if _is_unavailable(response):
        return RobotsState(rules=RobotsRules(), check_at=now + MAX_AGE_S)
    asked = asks_to_wait(response.status, response.headers)
    asked_s = retry_after_s(response.headers, wall_s) if asked else None
    return _unreachable(response, previous, now, asked_s)


def _is_unavailable(response: Response) -> bool:
    if response.status == HTTPStatus.TOO_MANY_REQUESTS:
        return False
    if response.outcome in {Outcome.REDIRECTED, Outcome.BAD_REDIRECT}:
        return True
    return response.status is not None and 400 <= response.status < 500


def _unreachable(
    response: Response, previous: RobotsState | None, now: float, asked_s: float | None
) -> RobotsState:
    failures = previous.failures + 1 if previous else 1
    first_s = FIRST_NETWORK_RETRY_S if response.status is None else FIRST_RETRY_S
    back_off_s = min(first_s * 2.0 ** min(failures - 1, 16), MAX_RETRY_S)
    check_at = now + (back_off_s if asked_s is None else min(asked_s, MAX_RETRY_S))
    copied_at = previous.copied_at if previous else None
    is_copy_valid = copied_at is not None and now - copied_at < MAX_STALE_AGE_S
    return RobotsState(
        rules=previous.rules if previous and is_copy_valid else None,
        check_at=check_at,
        copied_at=copied_at if is_copy_valid else None,
        failures=failures,
        trouble=_trouble(response),
        cause=response.cause,
    )


def _trouble(response: Response) -> str:
    if response.status is not None and response.status >= HTTPStatus.MULTIPLE_CHOICES:
        return f"robots.txt is unreachable: the server answered {response.status}"
    detail = f" ({response.detail})" if response.detail else ""
    return f"robots.txt is unreachable: {response.cause or response.outcome}{detail}"


def _encode_rules(rules: object) -> object:
    """Return what is stored of rules: the sitemaps of a file are read when it is fetched."""
    assert isinstance(rules, RobotsRules)
    return rules.crawl_delay_s, [(rule.allows, rule.written, rule.line) for rule in rules.rules]


def _decode_rules(_: type, stored: Any) -> RobotsRules:  # noqa: ANN401
    crawl_delay_s, lines = stored
    rules = (read_rule(*line) for line in lines)
    return RobotsRules([rule for rule in rules if rule], crawl_delay_s)


_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=_encode_rules)
_DECODER: Final = msgspec.msgpack.Decoder(RobotsState, dec_hook=_decode_rules)


def pack_state(state: RobotsState) -> bytes:
    """Return a state as bytes."""
    return zlib.compress(_ENCODER.encode(state), 1)


def unpack_state(packed: bytes) -> RobotsState:
    """Return the state again."""
    return _DECODER.decode(zlib.decompress(packed))
