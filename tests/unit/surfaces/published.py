"""Experiments that books and manuals print, with where they stand."""

import numpy as np

from becalm.surfaces.surface import Data
from becalm.surfaces.terms import Frame


def chemreact(blocks=(1, 2)):
    """Yield of a reaction over time and temperature, in two blocks: R's package rsm, `ChemReact`; Myers, Montgomery &
    Anderson-Cook, Response Surface Methodology, 3rd ed., table 7.6. Axial points code to 1.414, not to sqrt 2."""
    natural = [(80, 170), (80, 180), (90, 170), (90, 180), *[(85, 175)] * 6]
    natural += [(92.07, 175), (77.93, 175), (85, 182.07), (85, 167.93)]
    points = (np.array(natural, dtype=float) - [85, 175]) / 5
    block = np.repeat([1, 2], 7)
    y = np.array([80.5, 81.5, 82, 83.5, 83.9, 84.3, 84.0, 79.7, 79.8, 79.5, 78.4, 75.6, 78.5, 77.0])
    own = np.isin(block, blocks)
    return Data(Frame((0, 0)), points[own], block[own], y[own])


def heli():
    """Return the flight time of paper helicopters, a central composite design in two blocks: Box, Hunter & Hunter,
    Statistics for Experimenters, 2nd ed., table 12.5; R's package rsm, `heli`."""
    cube = [[1 if number >> k & 1 else -1 for k in range(4)] for number in range(16)]
    axial = [[side if k == factor else 0 for k in range(4)] for factor in range(4) for side in (-2, 2)]
    points = np.array([*cube, *[[0] * 4] * 2, *axial, *[[0] * 4] * 4], dtype=float)
    y = [367, 369, 374, 370, 372, 355, 397, 377, 350, 373, 358, 363, 344, 355, 370, 362, 377, 375]
    y += [361, 364, 355, 373, 361, 360, 380, 360, 370, 368, 369, 366]
    return Data(Frame((0, 0, 0, 0)), points, np.repeat([1, 2], [18, 12]), np.array(y, dtype=float))


def treb():
    """Return the horizontal distance of a trebuchet, a Box-Behnken design: Lawson, Design and Analysis of Experiments
    with R, 10.4 (R's package daewr, `Treb`)."""
    a = np.array([4, 8, 4, 8, 4, 8, 4, 8, 6, 6, 6, 6, 6, 6, 6], dtype=float)
    b = np.array([10, 10, 20, 20, 15, 15, 15, 15, 10, 20, 10, 20, 15, 15, 15], dtype=float)
    c = np.array([2.5, 2.5, 2.5, 2.5, 2, 2, 3, 3, 2, 2, 3, 3, 2.5, 2.5, 2.5])
    y = np.array([33, 85, 86, 113, 75, 105, 40, 89, 83, 108, 49, 101, 88, 91, 91], dtype=float)
    points = np.column_stack([(a - 6) / 2, (b - 15) / 5, (c - 2.5) / 0.5])
    return Data(Frame((0, 0, 0)), points, np.ones(15, dtype=int), y)


def uniformity():
    """Return the uniformity of a layer over pressure and H2/WF6, an inscribed central composite design: NIST/SEMATECH
    e-Handbook, 5.4.7.3. The axial cubes are coded to 0.71, as printed there."""
    points = [(1, 0), (0, 0), (0.71, -0.71), (-0.71, 0.71), (-1, 0), (0, 0), (-0.71, -0.71), (0, -1), (0.71, 0.71)]
    points += [(0, 1), (0, 0)]
    y = np.array([4.6, 6.2, 3.4, 6.9, 7.3, 6.4, 8.6, 6.3, 5.1, 5.4, 5.0])
    return Data(Frame((0, 0)), np.array(points, dtype=float), np.ones(11, dtype=int), y)


FILTRATION = np.array([45, 71, 48, 65, 68, 60, 80, 65, 43, 100, 45, 104, 75, 86, 70, 96], dtype=float)
"""Filtration rate of a 2^4 design in standard order: Montgomery, Design and Analysis of Experiments, example 6.2."""
