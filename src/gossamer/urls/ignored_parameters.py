"""The query parameters that fingerprints ignore, because they do not identify a page.

A wrong name here merges two pages, and one of them is never fetched; a missing name costs a few
fetches, whose contents are then found to be duplicates. So only names that are used for nothing
else are listed. All are compared in lower case.
"""

import re

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
