"""Names that lead nowhere, everywhere or elsewhere: a real name server that misbehaves."""

import json
import shutil
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest
from tests.web.test_guard import Trap, fetch_all

from gossamer.download.options import FetchOptions
from gossamer.download.transfer import MAX_ADDRESSES
from gossamer.model import Outcome
from gossamer.policy.addresses import AddressPolicy
from gossamer.testing import Web

pytestmark = pytest.mark.req("B6", "D19")

IPV4 = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
OWN_NETWORK = ["unshare", "--user", "--map-root-user", "--net", "--mount"]


def test_a_name_server_that_misbehaves() -> None:
    """In a network of its own, where a name server of ours is the only one."""
    if (
        not shutil.which("unshare")
        or subprocess.run([*OWN_NETWORK, "true"], check=False).returncode
    ):
        pytest.skip("this system lets nobody have a network of their own")
    program = [*OWN_NETWORK, sys.executable, "-m", "tests.web.names_program"]
    root = Path(__file__).parents[2]
    ended = subprocess.run(program, cwd=root, stdout=subprocess.PIPE, check=True, timeout=50)
    found = json.loads(ended.stdout)
    assert {name: outcome for name, (outcome, *_) in found.items()} == {
        "unknown": Outcome.DNS_FAILED,
        "failing": Outcome.DNS_FAILED,
        "circle": Outcome.DNS_FAILED,
        "silent": Outcome.TIMED_OUT,
        "honest beside silent": Outcome.FETCHED,
        "many": Outcome.CONNECTION_FAILED,
        "of-1": Outcome.FETCHED,
        "of-1-3": found["of-1-3"][0],  # by which of its addresses the system names first
        "of-3-1": found["of-3-1"][0],
        "of-2-3-1": found["of-2-3-1"][0],
        "rebinding": Outcome.FETCHED,
        "rebinding again": Outcome.ADDRESS_REFUSED,
        "trap": "untouched",
    }
    mixed = {found[name][0] for name in ("of-1-3", "of-3-1", "of-2-3-1")}
    assert mixed <= {Outcome.FETCHED, Outcome.ADDRESS_REFUSED}


def test_in_no_order_of_addresses_a_refused_one_is_contacted(
    web: Web, patient: FetchOptions
) -> None:
    """Among them one that nobody listens at, so that the next one is tried."""
    web.site("mixed.test").page("/")
    _, port = web.address
    policy = AddressPolicy.parse([f"127.0.0.1:{port}", "127.0.0.2"])
    inside, other = Trap("127.0.0.3", port), Trap("::1", port)
    with inside.listener, other.listener:
        ends = {
            order: fetch_all([f"http://mixed.test:{port}/"], patient, policy, {"mixed.test": order})
            for addresses in (IPV4, [*IPV4, "::1"])
            for order in permutations(addresses)
        }
        assert inside.untouched
        assert other.untouched
    fetched = {order for order, [one] in ends.items() if one.outcome is Outcome.FETCHED}
    assert {one.outcome for [one] in ends.values()} == {Outcome.FETCHED, Outcome.ADDRESS_REFUSED}
    assert {one.address for [one] in ends.values()} == {"127.0.0.1", None}
    assert ("127.0.0.1", "127.0.0.2", "127.0.0.3") in fetched
    assert ("127.0.0.2", "127.0.0.3", "127.0.0.1") not in fetched


def test_a_host_of_a_thousand_addresses_is_tried_at_a_few(web: Web, patient: FetchOptions) -> None:
    """Or it would have us knock at a thousand doors of others."""
    web.site("many.test").page("/")
    address, port = web.address
    others = [f"127.1.{one // 250}.{one % 250 + 1}" for one in range(1000)]
    policy = AddressPolicy.parse(["127.0.0.0/8"])

    def outcome_at(place: int) -> tuple[Outcome, str]:
        dns = {"many.test": [*others[:place], address, *others[place:]]}
        [response] = fetch_all([f"http://many.test:{port}/"], patient, policy, dns)
        return response.outcome, response.detail[-40:]

    assert outcome_at(MAX_ADDRESSES - 1) == (Outcome.FETCHED, "")
    outcome, detail = outcome_at(MAX_ADDRESSES)
    assert outcome is Outcome.CONNECTION_FAILED
    assert detail.endswith("only 8 of its addresses are tried")
