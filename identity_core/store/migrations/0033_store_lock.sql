-- The one row that each transaction of a writer on PostgreSQL locks first.
CREATE TABLE store_lock (
    id INTEGER NOT NULL,
    CONSTRAINT pk_store_lock PRIMARY KEY (id)
);

INSERT INTO store_lock (id) VALUES (1);
