"""The HTTP client: every request to the web goes through it."""

import asyncio
from functools import partial
from typing import Self

import pycurl

from gossamer.download.address_slots import WAIT_S, AddressLocks, AddressSlots
from gossamer.download.connections import ConnectionGroup, ConnectionGroups, ConnectionSockets
from gossamer.download.curl_errors import CurlFailure
from gossamer.download.deadlines import Watchdog
from gossamer.download.large_bodies import LargeBodies
from gossamer.download.lookups import Lookups, connect_by_table, needs_lookup, tell_address
from gossamer.download.options import Accept, FetchOptions
from gossamer.download.proxied import ProxiedGuard
from gossamer.download.request_settings import RequestCookies, SettingsFor, give_cookies
from gossamer.download.transfer import Transfer
from gossamer.model import Cause, NameTable, Response, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.policy.size_limits import Allowance
from gossamer.urls import host_key


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
        self._options = options
        self._addresses = addresses
        self._dns = dns
        self._groups = ConnectionGroups(options, settings_for)
        self._lookups = Lookups(options.connect_timeout_s)
        self._guard = ProxiedGuard(addresses, dns, self._lookups)
        self._slots = asyncio.Semaphore(options.connections)
        self._sockets = ConnectionSockets()
        self._address_slots = AddressSlots(
            options.address_connections, options.host_connections, address_locks
        )
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
            transfer = Transfer(
                url, accept, self._options, self._addresses, allowance, group.settings
            )
            curl = group.handles.take()
            transfer.attach(curl, self._sockets, self._address_slots)
            give_cookies(curl, cookies)
            failure = None
            if await self._may_be_asked(curl, url, transfer):
                transfer, failure = await self._send(curl, transfer, group, pause_s)
            if cookies is not None:
                cookies.collect(curl)
            response = transfer.response(failure)
            group.handles.give_back(curl)
            return response

    async def _may_be_asked(self, curl: pycurl.Curl, url: Url, transfer: Transfer) -> bool:
        """Tell the handle where the host is, as far as that is our business; False: it is not."""
        connection = transfer.settings.connection
        if connection.proxy is not None:
            verdict = await self._guard.judge(url)
            if verdict.cause is not None:
                transfer.stop(verdict.cause, verdict.detail)
            elif not connection.proxy_resolves:
                tell_address(curl, url, verdict.addresses)
        elif self._dns is None:
            await self._look_up(curl, url, transfer)
        elif not connect_by_table(curl, url, self._dns):
            transfer.stop(Cause.NAME_NOT_FOUND, "not in the table of names")
        return not transfer.stopped

    async def _look_up(self, curl: pycurl.Curl, url: Url, transfer: Transfer) -> None:
        """Tell the handle the addresses of the host, so that libcurl has no name to look up."""
        host = host_key(url)
        addresses: tuple[str, ...] = ()
        if needs_lookup(host):
            try:
                addresses = await self._lookups.find(host)
            except TimeoutError:
                transfer.stop(Cause.CONNECT_TIMEOUT, "looking up its name")
            except OSError as error:
                transfer.stop(Cause.NAME_NOT_FOUND, error.strerror or str(error))
        tell_address(curl, url, addresses)

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
                await self._address_slots.wait(transfer.busy_address, wait_until)
            elif not is_fresh and transfer.is_unanswered(failure):
                if transfer.was_sent and pause_s is None:
                    break
                await asyncio.sleep(pause_s if transfer.was_sent and pause_s else 0.0)
                is_fresh = True
                curl.setopt(pycurl.FRESH_CONNECT, 1)
            else:
                break
            transfer = transfer.again()
            transfer.attach(curl, self._sockets, self._address_slots)
        if is_fresh:
            curl.setopt(pycurl.FRESH_CONNECT, 0)
        return transfer, failure

    async def _perform(
        self, curl: pycurl.Curl, transfer: Transfer, group: ConnectionGroup
    ) -> CurlFailure | None:
        future = group.multi.add(curl)
        transfer.room = room = self._large_bodies.room(curl, partial(_break, future))
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
