-- Behind which line the audit log was cut, the hash of that line, and the tag of both.

ALTER TABLE audit_head ADD COLUMN cut_sequence BIGINT;
ALTER TABLE audit_head ADD COLUMN cut_link BLOB;
ALTER TABLE audit_head ADD COLUMN cut_mac BLOB;
