"""Steps that make the table of the extension, one numbered SQL file each."""
