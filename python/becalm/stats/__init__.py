"""Statistics of run times: pure functions on numpy arrays that return frozen values (docs/explanation/statistics.md).

Only numpy and scipy.special are imported here: scipy.stats costs 60 MB and 0.4 s, and is what the tests compare with.
"""
