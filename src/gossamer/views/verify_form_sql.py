"""The rules of `gossamer verify` about the form of the tables: types and values of columns."""

from gossamer.model import Outcome
from gossamer.views.verify_sql import VerifyRule

_OUTCOMES = ", ".join(f"'{outcome}'" for outcome in Outcome)
_COLUMNS = {
    "hosts": "key:text domain:text delay_s:real next_start:real failures:integer urls:integer "
    "unanswered:integer crawl_delay_s:real? requests:integer failed:integer pages:integer "
    "took_s:real received:integer failed_at:real? robots_slots:integer robots_until:real",
    "domains": "name:text credit:real worker:integer? kept_until:real",
    "urls": "url:text key:blob host:integer state:integer depth:integer parent:integer? "
    "hops:integer found_at:real score:real? queue:integer? outcome:text? detail:text? "
    "page:integer? duplicate_of:integer? finished_at:real? attempts:integer deaths:integer "
    "redirect:integer targets:blob? similarity:real? own_similarity:real? given_score:real?",
    "listings": "lastmod:real? priority:real? sitemap_of:text?",
    "leases": "number:integer worker:integer deadline:real allowed:integer shared:integer "
    "unproven:integer claim:blob?",
    "relaxing": "url:integer depth:integer hops:integer done:integer",
    "attempts": "url:integer at:real outcome:text cause:text? detail:text status:integer?",
    "pages": "url:integer size:integer digest:blob content_type:text encoding:text title:text "
    "fetched_at:real reported_depth:integer",
    "contents": "fetched_at:real content:blob",
    "sketches": "fetched_at:real bands:blob sample:blob own:blob?",
    "results": "url:integer page:integer? settled_at:real records:blob?",
    "result_rows": "row:blob",
}
"""The types of the columns; a question mark allows NULL."""


def _mistyped(table: str) -> str:
    wrong = " OR ".join(
        f"typeof({name}) NOT IN ('{kind.rstrip('?')}', '{'null' if '?' in kind else ''}')"
        for name, _, kind in (column.partition(":") for column in _COLUMNS[table].split())
    )
    key = "name" if table == "domains" else "rowid"
    return f"SELECT 'row ' || {key} || ' of {table}' FROM {table} WHERE {wrong}"  # noqa: S608 -- our own names


FORM = (
    VerifyRule(
        "types",
        "every value has the type of its column",
        " UNION ALL ".join(map(_mistyped, _COLUMNS)),
    ),
    VerifyRule(
        "values",
        "every value is a valid one",
        f"""
        SELECT 'URL ' || id || ': ' || url FROM urls
        WHERE state NOT BETWEEN 0 AND 5 OR depth < 0 OR deaths < 0 OR length(key) <> 16
           OR length(targets) % 8 <> 0 OR redirect NOT IN (0, 1) OR outcome NOT IN ({_OUTCOMES})
        UNION ALL
        SELECT 'attempt ' || rowid || ' ended as ' || outcome FROM attempts
        WHERE outcome NOT IN ({_OUTCOMES})
        UNION ALL
        SELECT 'page ' || id FROM pages WHERE id < 1 OR size < 0 OR length(digest) <> 16
        UNION ALL
        SELECT 'sketch of page ' || page FROM sketches WHERE length(bands) % 8 <> 0
        UNION ALL
        SELECT 'host ' || key FROM hosts
        WHERE failures < 0 OR delay_s < 0 OR unanswered < 0 OR requests < failed OR failed < 0
           OR pages < 0 OR took_s < 0 OR received < 0 OR robots_slots < 0
        UNION ALL
        SELECT 'domain ' || name FROM domains WHERE credit < 0
        UNION ALL
        SELECT 'lease of URL ' || url FROM leases
        WHERE shared NOT IN (0, 1) OR unproven NOT IN (0, 1)
        """,  # noqa: S608 -- our own words
    ),
    VerifyRule(
        "ids",
        "the URLs are numbered in the order of discovery, and none is missing",
        "SELECT count(*) || ' URLs, the last of which is number ' || max(id) FROM urls "
        "HAVING count(*) AND (min(id) <> 1 OR max(id) <> count(*))",
    ),
)
"""If one of these is broken, the other rules make no sense."""
