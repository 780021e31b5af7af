-- The DID whose log lists the generations of the log key, from the first rotation of it on.

ALTER TABLE transparency_head ADD COLUMN service_did TEXT;
