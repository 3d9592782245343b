"""URLs: text in, text out.

Every URL enters by `normalise`, `resolve` (links) or `parse_seed` (people) and is from then on a
`Url`: the normal form, by which pages are fetched. `fingerprint` gives the stronger form by which
they are compared. The functions of `keys` and `Domains` cut out what politeness, robots.txt and
scope go by, and a `Scope` says which URLs belong to the crawl, and why.

Whatever text comes in, nothing here raises or takes long; only what a person typed is answered
with an error.
"""

from gossamer.urls.display import shown
from gossamer.urls.domains import Domains
from gossamer.urls.fingerprint import fingerprint
from gossamer.urls.keys import authority, host_key, host_of, location
from gossamer.urls.normalise import MAX_URL_LENGTH, merge_slashes, normalise, resolve
from gossamer.urls.scope import Scope, ScopeDecision, ScopeKind
from gossamer.urls.seeds import parse_seed

__all__ = [
    "MAX_URL_LENGTH",
    "Domains",
    "Scope",
    "ScopeDecision",
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
