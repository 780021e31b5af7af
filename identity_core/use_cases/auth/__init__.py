"""How a caller proves who it is."""
