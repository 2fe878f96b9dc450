"""Simulated machines: models, a virtual clock, a seed."""
