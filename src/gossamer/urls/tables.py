"""The query parameters that fingerprints ignore, because they do not identify a page.

A wrong name here merges two pages, and one of them is never fetched; a missing name costs a few
fetches, whose contents are then found to be duplicates. So only names that are used for nothing
else are listed. All are compared in lower case.
"""

import re

SESSION_PARAMETERS = frozenset(
    {
        "jsessionid",  # Java servlets
        "phpsessid",  # PHP
        "cfid",  # ColdFusion, always with the next
        "cftoken",
        "oscsid",  # osCommerce
        "zenid",  # Zen Cart
        "bv_sessionid",  # BroadVision, always with the next
        "bv_engineid",
    }
)
"""Names of session ids, each of one product."""

SESSION_PREFIXES = ("aspsessionid",)
"""Session ids whose name ends at random: classic ASP's ASPSESSIONIDAQBSDSRT."""

DOUBTFUL_SESSION_PARAMETERS = frozenset(
    {"sid", "sessid", "session", "session_id", "sessionid", "sess_id"}
)
"""Names of session ids that also have other uses.

`article?sid=4711` is a page of its own. Archive crawlers have found that `sid` with 32 letters and
digits (an MD5 in hexadecimal, say) always was a session, so only such values are ignored.
"""

SESSION_TOKEN = re.compile(r"(?=[A-Za-z]*[0-9])[0-9A-Za-z]{32,}")
"""The whole value of a doubtful parameter that is a session id."""

TRACKING_PARAMETERS = frozenset(
    {
        # Google Ads, Analytics, Marketing Platform, Merchant Center
        "gclid",
        "gclsrc",
        "gbraid",
        "wbraid",
        "dclid",
        "gad_source",
        "gad_campaignid",
        "srsltid",
        "_ga",
        "_gl",
        # Meta: Facebook, Instagram
        "fbclid",
        "fb_action_ids",
        "fb_action_types",
        "fb_ref",
        "fb_source",
        "igshid",
        # click ids of other advertisers
        "msclkid",  # Microsoft
        "yclid",  # Yandex
        "ysclid",
        "_openstat",
        "twclid",  # X
        "ttclid",  # TikTok
        "li_fat_id",  # LinkedIn
        "rdt_cid",  # Reddit
        "epik",  # Pinterest
        "irclickid",  # Impact
        "s_kwcid",  # Adobe
        "ef_id",
        # newsletters and marketing mail
        "mc_cid",  # Mailchimp
        "mc_eid",
        "mkt_tok",  # Marketo
        "_hsenc",  # HubSpot
        "_hsmi",
        "__hssc",
        "__hstc",
        "__hsfp",
        "hsctatracking",
        "_kx",  # Klaviyo
        "ml_subscriber",  # MailerLite
        "ml_subscriber_hash",
        "oly_anon_id",  # Omeda
        "oly_enc_id",
        "vero_id",  # Vero
    }
)
"""How a visitor came to the page."""

TRACKING_PREFIXES = (
    "utm_",  # Urchin and its heirs: utm_source, utm_medium, utm_campaign …
    "mtm_",  # Matomo
    "pk_",  # Matomo's older names
    "piwik_",
)
"""Prefixes of families of tracking parameters."""
