"""Statistics of run times: pure functions on numpy arrays that return frozen values (docs/explanation/statistics.md).

Only numpy is imported by what a comparison needs, which has its own distributions (`normal`, `student`), and
scipy.special by the rest, since it costs 0.15 s. scipy.stats costs 60 MB and 0.4 s, and is what the tests compare with.
"""
