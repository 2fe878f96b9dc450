"""How a measurement on several hosts reads: sentences and the terminal."""
