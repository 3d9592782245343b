-- The file of one crawl. `state` is the number of gossamer.stores.contract.UrlState.
BEGIN;

PRAGMA application_id = 0x476F7373;       -- "Goss"
PRAGMA user_version = 4;

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
    took_s        REAL NOT NULL DEFAULT 0 -- of all requests together
);

CREATE TABLE domains (
    name   TEXT PRIMARY KEY,
    credit REAL NOT NULL
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
    page        INTEGER,
    duplicate_of INTEGER,                 -- the page with identical or similar content
    finished_at REAL,
    attempts    INTEGER NOT NULL DEFAULT 0,
    deaths      INTEGER NOT NULL DEFAULT 0, -- of workers, while they worked on it
    redirect    INTEGER NOT NULL DEFAULT 0,
    targets     BLOB                      -- ids of the links, 8 bytes each
);

CREATE INDEX unscored ON urls (id) WHERE state = 0;
CREATE INDEX queued ON urls (host, queue, score, id) WHERE state = 1;

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
    content_type TEXT NOT NULL,
    encoding     TEXT NOT NULL,
    title        TEXT NOT NULL,
    fetched_at   REAL NOT NULL,
    reported_depth INTEGER NOT NULL       -- to the modules; urls.depth may be smaller
);

CREATE INDEX pages_by_digest ON pages (digest);

CREATE TABLE contents (
    page       INTEGER PRIMARY KEY,
    fetched_at REAL NOT NULL,
    body       BLOB NOT NULL              -- zstd
);

CREATE INDEX contents_by_age ON contents (fetched_at);

CREATE TABLE sketches (
    page       INTEGER PRIMARY KEY,
    fetched_at REAL NOT NULL,
    bands      BLOB NOT NULL,             -- 8 bytes each
    sample     BLOB NOT NULL
);

CREATE TABLE notes (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

COMMIT;
