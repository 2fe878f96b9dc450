"""The report of a measurement on several hosts: sentences and the terminal."""
