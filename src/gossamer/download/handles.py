"""libcurl's easy handles, set up once for what we are: a crawler that gives nothing away."""

import ssl

import pycurl

from gossamer.download.codings import ACCEPT_ENCODING
from gossamer.download.options import FetchOptions

_ACCEPT = "text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.1"


class HandlePool:
    """Lends out handles with every option set that does not change from request to request.

    A handle carries no state of a server's making: cookies and authentication are off, and
    connections belong to the client. So it is used again as it is.
    """

    def __init__(self, options: FetchOptions) -> None:
        self._options = options
        self._ca_file = str(options.ca_file) if options.ca_file else _system_ca_file()
        self._idle: list[pycurl.Curl] = []

    def take(self) -> pycurl.Curl:
        """Return a handle that nobody else uses."""
        return self._idle.pop() if self._idle else self._new()

    def give_back(self, curl: pycurl.Curl) -> None:
        """Take back a handle whose transfer is over."""
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
        curl.setopt(pycurl.TIMEOUT_MS, _ms(options.total_timeout_s))
        # Nothing but the web, by no way round: no other scheme, no proxy or password file that
        # the environment names, no redirect that nobody judged.
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.PROXY, "")
        curl.setopt(pycurl.NETRC, pycurl.NETRC_IGNORED)
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        # One request at a time to a host leaves HTTP/2 nothing to interleave, and its framing is
        # one more thing to attack.
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
        curl.setopt(pycurl.HTTP09_ALLOWED, 0)
        curl.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2)
        if self._ca_file:
            curl.setopt(pycurl.CAINFO, self._ca_file)
        # The URL is in normal form; it is sent as it is, and so are the fields: libcurl's own
        # ACCEPT_ENCODING would also decode (see `codings`).
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.USERAGENT, options.user_agent)
        curl.setopt(
            pycurl.HTTPHEADER, [f"Accept: {_ACCEPT}", f"Accept-Encoding: {ACCEPT_ENCODING}"]
        )
        return curl


def _system_ca_file() -> str | None:
    """Return the system's certificates as Python finds them, or SSL_CERT_FILE names them.

    A libcurl from a wheel looks where the distribution that built it keeps them.
    """
    return ssl.get_default_verify_paths().cafile


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))
