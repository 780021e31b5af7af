"""The rules: frozen values and pure functions. No I/O; the clock and the random source come in as arguments."""
