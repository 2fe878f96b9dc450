"""Simulated machines, with models of noise, a virtual clock and a seed."""
