ALTER TABLE credential_schemas ADD COLUMN titles BLOB;
