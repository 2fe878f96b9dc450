"""Statistics of run times: pure functions on numpy arrays that return frozen values (docs/explanation/statistics.md).

Modules that a comparison needs import only numpy, and have their own distributions (`normal`, `student`); the others
import scipy.special, which takes 0.15 s. scipy.stats, which takes 60 MB and 0.4 s, is used only by the tests.
"""
