"""The pool of libcurl's easy handles, configured for a crawler that reveals nothing."""

import ssl

import pycurl

from gossamer.download.options import FetchOptions
from gossamer.download.request import page_fields
from gossamer.download.request_settings import PLAIN, ConnectionSettings, RequestSettings

_SUPPRESS_CONNECT_HEADERS = 265  # CURLOPT_SUPPRESS_CONNECT_HEADERS: pycurl has no name for it


class HandlePool:
    """A pool of handles with every option set that is the same for all requests.

    A handle keeps no state from servers: authentication is off, cookies are given and taken with
    each request (`cookies`), and connections belong to the client. So it can be reused as it is.
    """

    def __init__(self, options: FetchOptions, settings: RequestSettings = PLAIN) -> None:
        self._options = options
        self._settings = settings
        # Python finds the system's certificates, or SSL_CERT_FILE; a libcurl from a wheel would
        # use the path of the distribution that built it.
        given = settings.connection.ca_file or options.ca_file
        self._ca_file = str(given) if given else ssl.get_default_verify_paths().cafile
        self._idle: list[pycurl.Curl] = []

    def take(self) -> pycurl.Curl:
        """Return an unused handle."""
        return self._idle.pop() if self._idle else self._new()

    def give_back(self, curl: pycurl.Curl) -> None:
        """Return a handle to the pool after its transfer."""
        self._idle.append(curl)

    def close(self) -> None:
        """Free the idle handles."""
        while self._idle:
            self._idle.pop().close()

    def _new(self) -> pycurl.Curl:
        options = self._options
        curl = pycurl.Curl()
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, _ms(options.connect_timeout_s))
        # The web only: no other scheme, no proxy or password file from the environment, no
        # unchecked redirect.
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.PROXY, self._settings.connection.proxy or "")
        curl.setopt(pycurl.NOPROXY, "")
        curl.setopt(pycurl.NETRC, pycurl.NETRC_IGNORED)
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        # With one request at a time to a host HTTP/2 gains little, and its framing is one more
        # thing to attack: only who asks for it gets it.
        http2 = self._settings.connection.http2
        version = pycurl.CURL_HTTP_VERSION_2TLS if http2 else pycurl.CURL_HTTP_VERSION_1_1
        curl.setopt(pycurl.HTTP_VERSION, version)
        curl.setopt(pycurl.HTTP09_ALLOWED, 0)
        curl.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2)
        if self._ca_file:
            curl.setopt(pycurl.CAINFO, self._ca_file)
        # The URL is in normal form and sent as it is, and so are the fields (see `request`):
        # libcurl's own ACCEPT_ENCODING would also decode (see `codings`).
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.USERAGENT, self._settings.user_agent or options.user_agent)
        fields = self._settings.sent_fields(page_fields(options.accept))
        curl.setopt(pycurl.HTTPHEADER, [f"{name}: {value}" for name, value in fields])
        if self._settings is not PLAIN:
            _connect(curl, self._settings.connection, self._ca_file)
        return curl


def _connect(curl: pycurl.Curl, settings: ConnectionSettings, ca_file: str | None) -> None:
    """Set a handle up for the connections that it is to make."""
    if settings.client_cert is not None:
        curl.setopt(pycurl.SSLCERT, settings.client_cert)
        curl.setopt(pycurl.SSLKEY, settings.client_key or settings.client_cert)
    if settings.proxy is None:
        return
    # What the proxy says about a tunnel is not the answer, and our fields are not for the proxy.
    curl.setopt(_SUPPRESS_CONNECT_HEADERS, 1)
    curl.setopt(pycurl.HEADEROPT, pycurl.HEADER_SEPARATE)
    curl.setopt(pycurl.PROXY_SSLVERSION, pycurl.SSLVERSION_TLSv1_2)
    if ca_file:
        curl.setopt(pycurl.PROXY_CAINFO, ca_file)
    if settings.proxy_login is not None:
        curl.setopt(pycurl.PROXYAUTH, pycurl.HTTPAUTH_BASIC)
        curl.setopt(pycurl.PROXYUSERNAME, settings.proxy_login.user)
        curl.setopt(pycurl.PROXYPASSWORD, settings.proxy_login.password.reveal())


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))
