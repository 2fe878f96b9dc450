"""Files of counts: a log of the thesis's form and a dump of callgrind."""

LOG = """Start tracking task with pid 77
5000000 signal1
5000000 p1 5000000 10 1000
5000000 p2 5000000 0 0
10000000 p1 5000000 900 1000
10000000 p2 5000000 400 500
10000000 p3 sweetspot1
10000000 p4 sweetspot2
15000000 p1 5000000 20 1000
15000000 p2 5000000 0 0
Finish tracking task with pid 77
"""

DUMP = """# callgrind format
version: 1
pid: 9
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
totals: 1000 9 9 100 100 50 1 2 3
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
totals: 2000 9 9 300 200 0 200 100
"""


def written(folder, text):
    """Write a file and return its path."""
    path = folder / "file"
    path.write_text(text)
    return path
