"""The pool of libcurl's easy handles, configured for a crawler that reveals nothing."""

import ssl

import pycurl

from gossamer.download.codings import ACCEPT_ENCODING
from gossamer.download.options import FetchOptions

_ACCEPT = "text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.1"


class HandlePool:
    """A pool of handles with every option set that is the same for all requests.

    A handle keeps no state from servers: cookies and authentication are off, and connections belong
    to the client. So it can be reused as it is.
    """

    def __init__(self, options: FetchOptions) -> None:
        self._options = options
        # Python finds the system's certificates, or SSL_CERT_FILE; a libcurl from a wheel would
        # use the path of the distribution that built it.
        self._ca_file = (
            str(options.ca_file) if options.ca_file else ssl.get_default_verify_paths().cafile
        )
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
        curl.setopt(pycurl.TIMEOUT_MS, _ms(options.total_timeout_s))
        # The web only, directly: no other scheme, no proxy or password file from the environment,
        # no unchecked redirect.
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.PROXY, "")
        curl.setopt(pycurl.NETRC, pycurl.NETRC_IGNORED)
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        # With one request at a time to a host HTTP/2 gains nothing, and its framing is one more
        # thing to attack.
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
        curl.setopt(pycurl.HTTP09_ALLOWED, 0)
        curl.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2)
        if self._ca_file:
            curl.setopt(pycurl.CAINFO, self._ca_file)
        # The URL is in normal form and sent as it is, and so are the fields: libcurl's own
        # ACCEPT_ENCODING would also decode (see `codings`).
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.USERAGENT, options.user_agent)
        curl.setopt(
            pycurl.HTTPHEADER, [f"Accept: {_ACCEPT}", f"Accept-Encoding: {ACCEPT_ENCODING}"]
        )
        return curl


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))
