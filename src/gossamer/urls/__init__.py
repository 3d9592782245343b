"""URLs: normal forms, fingerprints, keys of hosts, registered domains and scopes.

Every URL enters through `normalise`, `resolve` (links) or `parse_seed` (typed by people), which
return a `Url`: the normal form, in which pages are fetched. `fingerprint` returns the stronger form
in which they are compared. `keys` and `Domains` extract the parts that politeness, robots.txt and
scope need, and a `Scope` decides which URLs belong to the crawl, and why.

Whatever the text, nothing here raises or takes long; only what a person typed raises an error.
"""

from gossamer.model.errors import shown
from gossamer.urls.fingerprint import fingerprint
from gossamer.urls.keys import Domains, authority, host_key, host_of, location
from gossamer.urls.normalise import MAX_URL_LENGTH, merge_slashes, normalise, resolve
from gossamer.urls.scope import Scope, ScopeKind
from gossamer.urls.seeds import parse_seed

__all__ = [
    "MAX_URL_LENGTH",
    "Domains",
    "Scope",
    "ScopeKind",
    "authority",
    "fingerprint",
    "host_key",
    "host_of",
    "location",
    "merge_slashes",
    "normalise",
    "parse_seed",
    "resolve",
    "shown",
]
