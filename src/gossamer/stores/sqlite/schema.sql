-- The file of one crawl. `state` is the number of gossamer.stores.url_record.UrlState.
BEGIN;

PRAGMA application_id = 0x476F7373;       -- "Goss"
PRAGMA user_version = 10;

CREATE TABLE hosts (
    id            INTEGER PRIMARY KEY,
    key           TEXT NOT NULL UNIQUE,
    domain        TEXT NOT NULL,
    delay_s       REAL NOT NULL,
    next_start    REAL NOT NULL,
    failures      INTEGER NOT NULL,       -- in a row
    unanswered    INTEGER NOT NULL DEFAULT 0,
    crawl_delay_s REAL,
    requests      INTEGER NOT NULL DEFAULT 0,
    failed        INTEGER NOT NULL DEFAULT 0,
    pages         INTEGER NOT NULL DEFAULT 0,
    took_s        REAL NOT NULL DEFAULT 0, -- of all requests together
    received      INTEGER NOT NULL DEFAULT 0, -- bytes of bodies
    urls          INTEGER NOT NULL DEFAULT 0, -- how many of its URLs are known
    failed_at     REAL,                   -- when its last failures in a row ended
    robots_slots  INTEGER NOT NULL DEFAULT 0, -- requests for its robots.txt
    robots_until  REAL NOT NULL DEFAULT 0 -- until when these are believed to run
);

CREATE TABLE domains (
    name       TEXT PRIMARY KEY,
    credit     REAL NOT NULL,
    worker     INTEGER,                   -- that serves it
    kept_until REAL NOT NULL              -- by this worker, also without URLs
) WITHOUT ROWID;

CREATE TABLE urls (
    id          INTEGER PRIMARY KEY,
    url         TEXT NOT NULL,
    key         BLOB NOT NULL UNIQUE,     -- 16 bytes: the hash of the fingerprint
    host        INTEGER NOT NULL,
    state       INTEGER NOT NULL,
    depth       INTEGER NOT NULL,         -- over the links seen so far
    parent      INTEGER,                  -- on the shortest path
    hops        INTEGER NOT NULL,         -- redirects since the last link on it
    found_at    REAL NOT NULL,
    score       REAL,
    queue       INTEGER,
    outcome     TEXT,
    detail      TEXT,
    page        INTEGER,                  -- the number of its page, which it never loses
    duplicate_of INTEGER,                 -- the page with identical or similar content
    finished_at REAL,
    attempts    INTEGER NOT NULL DEFAULT 0,
    deaths      INTEGER NOT NULL DEFAULT 0, -- of workers, while they worked on it
    redirect    INTEGER NOT NULL DEFAULT 0,
    targets     BLOB,                     -- ids of the links, 8 bytes each
    similarity  REAL,                     -- to the page that it repeats
    own_similarity REAL,                  -- of their own contents
    given_score REAL                      -- with the link by which it was first found
);

CREATE INDEX unscored ON urls (id) WHERE state = 0;
CREATE INDEX queued ON urls (host, queue, score, id) WHERE state = 1;

CREATE TABLE url_blocks (                 -- of 64 URLs: gossamer.stores.columns
    number  INTEGER PRIMARY KEY,
    columns BLOB NOT NULL                 -- what memory has of them, packed
);

CREATE TABLE listings (                   -- what sitemaps say of URLs
    url        INTEGER PRIMARY KEY,
    lastmod    REAL,
    priority   REAL,
    sitemap_of TEXT                       -- it is a sitemap, of the URLs of this domain
);

CREATE INDEX sitemaps ON listings (sitemap_of) WHERE sitemap_of IS NOT NULL;

CREATE TABLE relaxing (
    url   INTEGER PRIMARY KEY,            -- has come nearer; what its links lead to not yet
    depth INTEGER NOT NULL,               -- as in urls
    hops  INTEGER NOT NULL,
    done  INTEGER NOT NULL                -- how many of its links were followed
);

CREATE INDEX relaxing_nearest ON relaxing (depth, hops, url);

CREATE TABLE leases (                     -- of URLs in progress, which are queued in `urls`
    url      INTEGER PRIMARY KEY,
    number   INTEGER NOT NULL,
    worker   INTEGER NOT NULL,
    deadline REAL NOT NULL,
    allowed  INTEGER NOT NULL,            -- bytes reserved for it
    shared   INTEGER NOT NULL,            -- whether its host was shared
    unproven INTEGER NOT NULL,            -- whether its host had not answered yet
    claim    BLOB                         -- of a page number (msgpack)
);

CREATE TABLE attempts (
    url     INTEGER NOT NULL,
    at      REAL NOT NULL,
    outcome TEXT NOT NULL,
    cause   TEXT,
    detail  TEXT NOT NULL,
    status  INTEGER
);

CREATE INDEX attempts_of ON attempts (url);

CREATE TABLE pages (
    id           INTEGER PRIMARY KEY,     -- 1, 2, 3 … without gaps
    url          INTEGER NOT NULL,
    size         INTEGER NOT NULL,
    digest       BLOB NOT NULL,
    attributes   BLOB NOT NULL,           -- what is only carried: gossamer.model.page
    fetched_at   REAL NOT NULL,           -- this and the rest: of the last version
    reported_depth INTEGER NOT NULL       -- to the modules; urls.depth may be smaller
);

CREATE INDEX pages_by_digest ON pages (digest);

CREATE TABLE page_blocks (                -- the same of 64 pages
    number  INTEGER PRIMARY KEY,
    columns BLOB NOT NULL
);

CREATE TABLE contents (
    page       INTEGER PRIMARY KEY,
    fetched_at REAL NOT NULL,
    content    BLOB NOT NULL              -- body and exchange: gossamer.stores.bodies
);

CREATE INDEX contents_by_age ON contents (fetched_at);

CREATE TABLE sketches (
    page       INTEGER PRIMARY KEY,
    fetched_at REAL NOT NULL,
    bands      BLOB NOT NULL,             -- 8 bytes each
    sample     BLOB NOT NULL,
    own        BLOB                       -- the sample of its own content, once that was read
);

CREATE TABLE results (                    -- a log, in the order of settlement
    number     INTEGER PRIMARY KEY,
    url        INTEGER NOT NULL,
    page       INTEGER,                   -- that was kept
    settled_at REAL NOT NULL,
    records    BLOB                       -- of modules (msgpack)
);

CREATE TABLE result_rows (                -- until the outputs have them
    number INTEGER PRIMARY KEY,
    row    BLOB NOT NULL
);

CREATE TABLE notes (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

COMMIT;
