"""How bytes and JSON are written: multibase, multikey, JCS, strict JSON. Siblings of crypto and settings; they import no other room."""
