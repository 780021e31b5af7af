-- The name that the transparency log began with: it outlives a change of port or public URL.

ALTER TABLE transparency_head ADD COLUMN origin TEXT;
