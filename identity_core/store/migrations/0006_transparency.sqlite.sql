-- The transparency log: tiles, the head of the tree, and where transactions are.

CREATE TABLE transparency_tiles (
    level INTEGER NOT NULL,
    number BIGINT NOT NULL,
    hashes BLOB NOT NULL,
    CONSTRAINT pk_transparency_tiles PRIMARY KEY (level, number)
);

CREATE TABLE transparency_head (
    id INTEGER NOT NULL,
    size BIGINT NOT NULL,
    peaks BLOB NOT NULL,
    CONSTRAINT pk_transparency_head PRIMARY KEY (id)
);

CREATE TABLE transparency_places (
    prefix BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    CONSTRAINT pk_transparency_places PRIMARY KEY (prefix, sequence)
)
 WITHOUT ROWID;

INSERT INTO transparency_head (id, size, peaks) VALUES (1, 0, X'');
