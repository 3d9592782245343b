"""The HTTP client: every request to the web goes through it."""

import asyncio
from typing import Self

import pycurl

from gossamer.download.curl_errors import CurlFailure
from gossamer.download.handles import HandlePool
from gossamer.download.names import direct
from gossamer.download.options import Accept, FetchOptions
from gossamer.download.transfer import Transfer
from gossamer.download.watchdog import Watchdog
from gossamer.model import Cause, NameTable, Response, Url
from gossamer.policy.addresses import AddressPolicy


class Client:
    """A client that fetches many URLs at a time over kept connections; use it in `async with`.

    `addresses` checks the address of every new connection before its socket exists. `dns`, if
    given, is read at each request and replaces DNS completely.
    """

    def __init__(
        self, options: FetchOptions, addresses: AddressPolicy, dns: NameTable | None = None
    ) -> None:
        self._options = options
        self._addresses = addresses
        self._dns = dns
        self._multi = pycurl.AsyncCurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, options.connections)
        self._handles = HandlePool(options)
        self._slots = asyncio.Semaphore(options.connections)
        self._watchdog = Watchdog(options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close every connection; running and waiting fetches are cancelled."""
        await self._multi.aclose()
        self._handles.close()

    async def fetch(self, url: Url, accept: Accept = Accept.PAGE) -> Response:
        """Return the result of one GET, whatever the server or the network does.

        A redirect is not followed. At most `connections` requests run at a time; the others wait
        here, and that time does not count for their timeouts.
        """
        if self._multi.closed:
            raise RuntimeError("The client is closed.")
        async with self._slots:
            if self._multi.closed:
                raise asyncio.CancelledError
            transfer = Transfer(url, accept, self._options, self._addresses)
            curl = self._handles.take()
            transfer.attach(curl)
            failure = None
            if self._dns is None or direct(curl, url, self._dns):
                failure = await self._perform(curl, transfer)
            else:
                transfer.stop(Cause.NAME_NOT_FOUND, "not in the table of names")
            response = transfer.response(failure)
            self._handles.give_back(curl)
            return response

    async def _perform(self, curl: pycurl.Curl, transfer: Transfer) -> CurlFailure | None:
        future = self._multi.add_handle(curl)
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
            self._watchdog.release(transfer)
        return None
