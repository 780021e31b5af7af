-- When the holder last began the count of questions about a credential anew.

ALTER TABLE credentials ADD COLUMN disclosures_reset_at BIGINT;
