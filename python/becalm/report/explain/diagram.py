"""The first of Mund's diagrams for the run queue, made of characters: the delay factor to the right, the run queue over
the CPUs upwards, on the scale of all programs and machines."""

from __future__ import annotations

from becalm.load.explanation import Case
from becalm.report.explain.scale import DiagramScale, delayed_from, value

WIDTH, HEIGHT = 56, 12


def diagram(case: Case, plain: bool, on: DiagramScale) -> str:
    """Return the points and the expected curve; empty unless the run queue is known at two places or more."""
    points = [(point.delay.factor, v) for point in case.points if (v := value(point, "queue")) is not None]
    if len({queue for _, queue in points}) < 2:
        return ""
    (left, right), top = on.delay, on.top
    cells = [[" "] * WIDTH for _ in range(HEIGHT)]

    def put(delay: float, queue: float, mark: str) -> None:
        column = round((delay - left) / (right - left) * (WIDTH - 1))
        row = HEIGHT - 1 - round(queue / top * (HEIGHT - 1))
        if 0 <= column < WIDTH and 0 <= row < HEIGHT:
            cells[row][column] = mark

    dot, point, edge, floor = (":", "o", "|", "-") if plain else ("·", "●", "│", "─")
    steps, least = 4 * WIDTH, delayed_from(case)
    for step in range(steps + 1):
        queue = top * step / steps
        put(max(1.0, queue / least), queue, dot)
    for delay, queue in points:
        put(delay, queue, point)
    margin = len(f"{top:.1f}")
    lines = []
    for row, line in enumerate(cells):
        label = f"{top * (HEIGHT - 1 - row) / (HEIGHT - 1):.1f}" if row in (0, HEIGHT // 2, HEIGHT - 1) else ""
        lines.append(f"{label:>{margin}} {edge}{''.join(line)}".rstrip())
    ends = f"{left:.2f}", f"delay factor ({dot} expected)", f"{right:.2f}"
    room = WIDTH - len(ends[0]) - len(ends[2])
    lines.append(" " * margin + " " + edge + floor * WIDTH)
    lines.append(" " * (margin + 2) + ends[0] + f"{ends[1]:^{room}}" + ends[2])
    return "\n".join(lines)
