"""The lanes of a client: for each kind of requests its handles, and connections of its own.

libcurl compares some of what makes up a connection before it uses one again, and which depends on
its version. Here, connections with different settings are in different hands from the start.
"""

from gossamer.download.handles import HandlePool
from gossamer.download.multi import Multi
from gossamer.download.options import Accept, FetchOptions
from gossamer.download.request_settings import (
    PLAIN,
    ConnectionSettings,
    RequestSettings,
    SettingsFor,
)
from gossamer.model import Url
from gossamer.urls import authority

MAX_ORIGINS = 10_000
"""Of how many origins it is remembered which settings they have."""


class Lane:
    """One kind of requests: how they are made, handles for them, and their connections."""

    def __init__(self, settings: RequestSettings, handles: HandlePool, multi: Multi) -> None:
        self.settings = settings
        self.handles = handles
        self.multi = multi


class Lanes:
    """All lanes of a client; without rules there is one, for every request."""

    def __init__(self, options: FetchOptions, settings_for: SettingsFor | None) -> None:
        self._options = options
        self._settings_for = settings_for
        self._multis: dict[ConnectionSettings, Multi] = {}
        self._lanes: dict[RequestSettings, Lane] = {}
        self._of_origins: dict[tuple[str, Accept], Lane] = {}
        self._plain = self._open(PLAIN)

    @property
    def closed(self) -> bool:
        """Whether they are closed."""
        return self._plain.multi.closed

    def choose(self, url: Url, accept: Accept) -> Lane:
        """Return the lane for a request."""
        if self._settings_for is None:
            return self._plain
        key = authority(url), accept
        lane = self._of_origins.get(key)
        if lane is None:
            settings = self._settings_for(url)
            # What accepts anything is robots.txt, which is for everybody.
            lane = self._open(settings.without_secrets() if accept is Accept.ANYTHING else settings)
            if len(self._of_origins) >= MAX_ORIGINS:
                self._of_origins.clear()
            self._of_origins[key] = lane
        return lane

    def close(self) -> None:
        """Close every connection; whoever waits for a transfer is cancelled."""
        for multi in self._multis.values():
            multi.close()
        for lane in self._lanes.values():
            lane.handles.close()

    def _open(self, settings: RequestSettings) -> Lane:
        lane = self._lanes.get(settings)
        if lane is None:
            multi = self._multis.get(settings.connection)
            if multi is None:
                multi = self._multis[settings.connection] = Multi(self._options.connections)
            lane = self._lanes[settings] = Lane(
                settings, HandlePool(self._options, settings), multi
            )
        return lane
