"""Operation of an installation: checks, backups, upgrades, retention and erasure of records."""
