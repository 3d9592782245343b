"""The HTTP client: every request to the web goes through it."""

import asyncio
from functools import partial
from typing import Self

import pycurl

from gossamer.download.address_slots import WAIT_S, AddressLocks, AddressSlots
from gossamer.download.connections import (
    ConnectionGroup,
    ConnectionGroups,
    ConnectionSockets,
    RequestCookies,
    give_cookies,
)
from gossamer.download.curl_errors import CurlFailure
from gossamer.download.deadlines import Watchdog
from gossamer.download.large_bodies import BodyRoom, LargeBodies
from gossamer.download.lookups import HostFinder
from gossamer.download.options import Accept, FetchOptions
from gossamer.download.request_settings import SettingsFor
from gossamer.download.transfer import Network, Request, Transfer
from gossamer.model import NameTable, Response, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.policy.size_limits import Allowance


class Client:
    """A client that fetches many URLs at a time over kept connections; use it in `async with`.

    `addresses` checks the address of every new connection before its socket exists. `dns`, if
    given, is read at each request and replaces DNS completely. `settings_for`, if given, says how
    each request is made; without it, all are made in the same way, directly and without a login.
    `address_locks` are shared with clients of other processes.
    """

    def __init__(
        self,
        options: FetchOptions,
        addresses: AddressPolicy,
        dns: NameTable | None = None,
        settings_for: SettingsFor | None = None,
        address_locks: AddressLocks | None = None,
    ) -> None:
        slots = AddressSlots(options.address_connections, options.host_connections, address_locks)
        self._network = Network(options, addresses, ConnectionSockets(), slots)
        self._groups = ConnectionGroups(options, settings_for)
        self._hosts = HostFinder(addresses, dns, options.connect_timeout_s)
        self._slots = asyncio.Semaphore(options.connections)
        self._watchdog = Watchdog(options)
        largest = max(options.max_body_bytes, options.max_file_bytes)
        self._large_bodies = LargeBodies(largest, options.max_held_bytes)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close every connection; running and waiting fetches are cancelled."""
        self._groups.close()

    async def fetch(
        self,
        url: Url,
        accept: Accept = Accept.PAGE,
        allowance: Allowance | None = None,
        cookies: RequestCookies | None = None,
        pause_s: float | None = 0.0,
    ) -> Response:
        """Return the result of one GET, whatever the server or the network does.

        No more is received than the allowance has left; what does not fit is broken off. Without
        `cookies` none are sent or taken.
        Raise `AddressBusyError` where its address has too much to do.
        A request that a kept connection did not answer is repeated on a new one: after a pause if
        the server may have seen it, and then not at all if `pause_s` is None.
        A redirect is not followed. At most `connections` requests run at a time; the others wait
        here, and that time does not count for their timeouts.
        """
        if self._groups.closed:
            raise RuntimeError("The client is closed.")
        async with self._slots:
            if self._groups.closed:
                raise asyncio.CancelledError
            group = self._groups.choose(url, accept)
            request = Request(url, accept, group.settings, allowance or Allowance())
            curl = group.handles.take()
            give_cookies(curl, cookies)
            transfer, failure = Transfer(curl, request, self._network), None
            refusal = await self._hosts.direct(curl, url, group.settings.connection)
            if refusal is not None:
                transfer.stop(*refusal)
            else:
                transfer, failure = await self._send(curl, transfer, group, pause_s)
            if cookies is not None:
                cookies.collect(curl)
            response = transfer.response(failure)
            group.handles.give_back(curl)
            return response

    async def _send(
        self, curl: pycurl.Curl, transfer: Transfer, group: ConnectionGroup, pause_s: float | None
    ) -> tuple[Transfer, CurlFailure | None]:
        """Send a request; return it, or the one that was sent in its place, and how it failed.

        One that was not answered on a kept connection is sent on a new one, once; and one whose
        address has too much to do is not sent before there is a slot.
        """
        is_fresh, wait_until = False, 0.0
        while True:
            failure = await self._perform(curl, transfer, group)
            if transfer.busy_address is not None:
                wait_until = wait_until or asyncio.get_running_loop().time() + WAIT_S
                await self._network.slots.wait(transfer.busy_address, wait_until)
            elif not is_fresh and transfer.is_unanswered(failure):
                if transfer.was_sent and pause_s is None:
                    break
                await asyncio.sleep(pause_s if transfer.was_sent and pause_s else 0.0)
                is_fresh = True
                curl.setopt(pycurl.FRESH_CONNECT, 1)
            else:
                break
            transfer = Transfer(curl, transfer.request, self._network)
        if is_fresh:
            curl.setopt(pycurl.FRESH_CONNECT, 0)
        return transfer, failure

    async def _perform(
        self, curl: pycurl.Curl, transfer: Transfer, group: ConnectionGroup
    ) -> CurlFailure | None:
        future = group.multi.add(curl)
        transfer.room = room = BodyRoom(self._large_bodies, curl, partial(_break, future))
        self._watchdog.watch(transfer, future)
        try:
            await future
        except pycurl.error as error:
            return CurlFailure(*error.args)
        except asyncio.CancelledError:
            # Cancelled is either the future, by the watchdog, or our caller.
            task = asyncio.current_task()
            if not transfer.stopped or (task is not None and task.cancelling()):
                raise
        finally:
            group.multi.remove(curl)
            self._watchdog.release(transfer)
            transfer.leave()
            room.leave()
        return None


def _break(future: asyncio.Future[None], error: pycurl.error) -> None:
    if not future.done():
        future.set_exception(error)
