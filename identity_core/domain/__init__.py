"""Rules as frozen values and pure functions, without I/O. The clock and the random source are arguments."""
