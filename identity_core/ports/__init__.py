"""The sockets: Protocols only. What plugs in is chosen by settings, never by import."""
