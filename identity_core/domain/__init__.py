"""The rules: frozen values and pure functions. No I/O; the clock and the dice come in as arguments."""
