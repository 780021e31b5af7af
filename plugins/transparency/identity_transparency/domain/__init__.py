"""Rules of the transparency log, without I/O."""
