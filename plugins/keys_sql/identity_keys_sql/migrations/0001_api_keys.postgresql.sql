-- The collation makes the order of the ids that of their code points, on every server.
CREATE TABLE keys_api_keys (
    id TEXT COLLATE "C" PRIMARY KEY,
    digest TEXT COLLATE "C" NOT NULL UNIQUE,
    record TEXT NOT NULL
);
