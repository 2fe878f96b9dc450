"""The first of Mund's diagrams made of characters: delay factor to the right, run queue over CPUs upwards."""

from __future__ import annotations

from becalm.load.explanation import Case

WIDTH, HEIGHT = 56, 12


def diagram(case: Case, plain: bool) -> str:
    """Points and the curve of the expectation; empty where the run queue is not known in two places at least."""
    points = [
        (point.delay.factor, point.queue / point.cpus)
        for point in case.points
        if point.queue is not None and point.cpus
    ]
    if len({queue for _, queue in points}) < 2:
        return ""
    right = max(1.1, *(delay for delay, _ in points)) * 1.02
    left, top = min(1.0, *(delay for delay, _ in points)), max(1.1, *(queue for _, queue in points)) * 1.02
    cells = [[" "] * WIDTH for _ in range(HEIGHT)]

    def put(delay: float, queue: float, mark: str) -> None:
        column = round((delay - left) / (right - left) * (WIDTH - 1))
        row = HEIGHT - 1 - round(queue / top * (HEIGHT - 1))
        if 0 <= column < WIDTH and 0 <= row < HEIGHT:
            cells[row][column] = mark

    dot, point, edge, floor = (":", "o", "|", "-") if plain else ("·", "●", "│", "─")
    steps = 4 * WIDTH
    for step in range(steps + 1):
        queue = top * step / steps
        put(max(1.0, queue), queue, dot)
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
