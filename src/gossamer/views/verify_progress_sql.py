"""The rules of `gossamer verify` about what is in progress, and what is noted of a crawl."""

from gossamer.views.verify_sql import VerifyRule

LEASES_OF_A_START = 32
"""How many bits of a lease's number count the leases of one start."""

PROGRESS = (
    VerifyRule(
        "notes",
        "what is noted of a crawl as a whole is there, and a valid value",
        # A crawl that has asked for no URL yet has noted less.
        """
        SELECT 'starts: ' || coalesce(value, 'nothing') FROM asked
        LEFT JOIN notes ON name = 'starts' WHERE is_asked AND coalesce(number_of(value), 0) < 1
        UNION ALL
        SELECT 'queues: ' || coalesce(value, 'nothing') FROM asked
        LEFT JOIN notes ON name = 'queues' WHERE is_asked AND coalesce(number_of(value), 0) < 1
        UNION ALL
        SELECT 'unsure_since: ' || coalesce(value, 'nothing') FROM asked
        LEFT JOIN notes ON name = 'unsure_since'
        WHERE is_asked AND number_of(value) IS NULL
        UNION ALL
        SELECT 'closed: ' || coalesce(value, 'nothing') FROM asked
        LEFT JOIN notes ON name = 'closed'
        WHERE is_asked AND coalesce(CAST(value AS TEXT), '') NOT IN ('yes', 'no')
        UNION ALL
        SELECT 'url_queue_peak: ' || coalesce(value, 'nothing') FROM asked
        LEFT JOIN notes ON name = 'url_queue_peak'
        WHERE is_asked AND coalesce(number_of(value), 0) < 1
        UNION ALL
        SELECT 'counts: nothing' FROM asked
        WHERE is_asked AND NOT EXISTS (SELECT 1 FROM notes WHERE name = 'counts')
        UNION ALL
        SELECT name || ': ' || value FROM notes
        WHERE name IN ('visits', 'bytes', 'received', 'short_at', 'reading', 'listed',
                       'over_host_urls')
          AND coalesce(number_of(value), -1) < 0
        """,
    ),
    VerifyRule(
        "leases",
        "every lease has a number of its own that was given to it, and keeps within the budgets",
        f"""
        SELECT 'URL ' || leases.url || ' has the lease ' || number FROM leases, started
        WHERE number >> {LEASES_OF_A_START} NOT BETWEEN 1 AND starts
        UNION ALL
        SELECT count(*) || ' URLs have the lease ' || number FROM leases
        GROUP BY number HAVING count(*) > 1
        UNION ALL
        SELECT 'URL ' || leases.url || ' is leased until ' || deadline || ' by worker ' || worker
        FROM leases WHERE worker < 0 OR deadline <= 0 OR allowed < 0
        UNION ALL
        SELECT reserved || ' bytes are reserved, and ' || received || ' of ' || :max_bytes
            || ' were received'
        FROM counted, (SELECT coalesce(sum(allowed), 0) AS reserved FROM leases)
        WHERE reserved > 0 AND received + reserved > :max_bytes
        """,  # noqa: S608 -- our own number
    ),
    VerifyRule(
        "slots",
        "a host is asked for its robots.txt for a limited time, and not in a closed crawl",
        """
        SELECT key || ' is asked ' || robots_slots || ' times' FROM hosts
        WHERE robots_slots > 0 AND (:closed OR robots_until <= 0)
        """,
    ),
    VerifyRule(
        "domains",
        "only domains of known hosts are served by workers",
        """
        SELECT name || ' is served by worker ' || worker FROM domains
        WHERE worker IS NOT NULL AND (worker < 0 OR name NOT IN (SELECT domain FROM hosts))
        """,
    ),
    VerifyRule(
        "received",
        "the bytes that were received are those of all hosts together",
        """
        SELECT received || ' bytes counted, and ' || total || ' of the hosts'
        FROM counted, (SELECT coalesce(sum(received), 0) AS total FROM hosts)
        WHERE counted.received <> total
        """,
    ),
)

NOTED = """
    CREATE TEMP VIEW asked AS SELECT EXISTS (SELECT 1 FROM attempts) AS is_asked
"""
STARTED = """
    CREATE TEMP VIEW started AS SELECT
        CAST((SELECT CAST(value AS TEXT) FROM notes WHERE name = 'starts') AS INTEGER) AS starts
"""
