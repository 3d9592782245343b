"""Fingerprints of URLs: equal for spellings that lead to the same page in practice.

This goes further than the standards allow (RFC 3986 does not permit sorting a query), so a page is
always fetched by the URL that was found; the fingerprint only decides whether it was seen before.
"""

import re

from gossamer.model import Fingerprint, Url
from gossamer.urls.keys import without_root_dot
from gossamer.urls.normalise import merge_slashes

IGNORED_PARAMETERS = frozenset(
    {
        # session ids, each of one product
        *("jsessionid", "phpsessid"),  # Java servlets, PHP
        *("cfid", "cftoken"),  # ColdFusion, always together
        *("oscsid", "zenid"),  # osCommerce, Zen Cart
        *("bv_sessionid", "bv_engineid"),  # BroadVision, always together
        # Google Ads, Analytics, Marketing Platform, Merchant Center
        *("gclid", "gclsrc", "gbraid", "wbraid", "dclid", "gad_source", "gad_campaignid"),
        *("srsltid", "_ga", "_gl"),
        # Meta: Facebook, Instagram
        *("fbclid", "fb_action_ids", "fb_action_types", "fb_ref", "fb_source", "igshid"),
        # click ids of other advertisers
        *("yclid", "ysclid", "_openstat"),  # Yandex
        *("msclkid", "twclid", "ttclid"),  # Microsoft, X, TikTok
        *("li_fat_id", "rdt_cid", "epik"),  # LinkedIn, Reddit, Pinterest
        *("irclickid", "s_kwcid", "ef_id"),  # Impact; Adobe
        # newsletters and marketing mail
        *("mc_cid", "mc_eid", "mkt_tok"),  # Mailchimp; Marketo
        *("_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsctatracking"),  # HubSpot
        *("_kx", "ml_subscriber", "ml_subscriber_hash"),  # Klaviyo; MailerLite
        *("oly_anon_id", "oly_enc_id", "vero_id"),  # Omeda; Vero
    }
)
"""Names of session ids, and of how a visitor came to the page."""

IGNORED_PREFIXES = (
    "aspsessionid",  # classic ASP; the name ends at random: ASPSESSIONIDAQBSDSRT
    "utm_",  # Urchin and its heirs: utm_source, utm_medium, utm_campaign …
    *("mtm_", "pk_", "piwik_"),  # Matomo, and its older names
)
"""Prefixes of families of such names."""

DOUBTFUL_PARAMETERS = frozenset({"sid", "sessid", "session", "session_id", "sessionid", "sess_id"})
"""Names of session ids that also have other uses.

`article?sid=4711` is a page of its own. Archive crawlers have found that `sid` with 32 letters and
digits (an MD5 in hexadecimal, say) always was a session, so only such values are ignored.
"""

SESSION_TOKEN = re.compile(r"(?=[A-Za-z]*[0-9])[0-9A-Za-z]{32,}")
"""The whole value of a doubtful parameter that is a session id."""


# Java: "/shop;jsessionid=1A2B/cart". After "/." or "/.." the removal would leave a dot segment.
_JAVA_SESSION = re.compile(r"(?<!/\.)(?<!/\.\.);jsessionid=[^/;]*", re.IGNORECASE)
# ASP.NET without cookies: "/(S(lit3py55t21z5v55vlm25s55))/page.aspx", also "/(A(…)F(…)S(…))/".
_ASP_NET_SESSION = re.compile(r"/\((?:[AFSX]\([0-9A-Za-z_-]+\))+\)(?=/)")


def fingerprint(url: Url) -> Fingerprint:
    """Return a text that is equal for URLs that count as the same page.

    Session ids, tracking parameters, empty and repeated parameters, doubled slashes and the dot
    after the host are left out; parameters are sorted by name, those of one name keep their order.
    The result is itself a URL in normal form, and its own fingerprint.
    """
    if (
        "?" not in url
        and ";" not in url
        and "(" not in url
        and "./" not in url
        and ".:" not in url
        and url.find("//", 8) < 0
    ):
        return Fingerprint(url)
    start = url.find("/", 8)
    path, _, query = url[start:].partition("?")
    path = _ASP_NET_SESSION.sub("", _JAVA_SESSION.sub("", path))
    page = merge_slashes(Url(without_root_dot(url[:start]) + path))
    query = _comparable_query(query)
    return Fingerprint(f"{page}?{query}" if query else page)


def _comparable_query(query: str) -> str:
    parameters = [
        parameter for parameter in query.split("&") if parameter and _names_page(parameter)
    ]
    return "&".join(sorted(dict.fromkeys(parameters), key=_name))


def _name(parameter: str) -> str:
    return parameter.partition("=")[0]


def _names_page(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    name = name.lower()
    if name in IGNORED_PARAMETERS or name.startswith(IGNORED_PREFIXES):
        return False
    return name not in DOUBTFUL_PARAMETERS or SESSION_TOKEN.fullmatch(value) is None
