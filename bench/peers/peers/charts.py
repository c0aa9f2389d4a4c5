"""Draws the figures of scaling.py as SVG."""

AXES = {"threads": "threads", "batch": "batch", "clients": "clients", "size": "weights"}
# By part: the title of a chart, the unit, and the lines by key and label.
CHARTS = {
    "threads": [("time of an execution", "ms", {"halyard": "Halyard", "litert": "LiteRT"})],
    "batch": [("time of an execution", "ms", {"halyard": "Halyard", "litert": "LiteRT"})],
    "clients": [("executions per second", "1/s", {"per_second": "closed loops"}),
                ("time of arrivals at 70 % of that rate", "ms", {"p50_ms": "p50", "p99_ms": "p99"}),
                ("memory of the service", "MiB", {"memory_kib": "PSS"})],
    "size": [("time of an execution", "ms", {"halyard_ms": "Halyard", "litert_ms": "LiteRT"}),
             ("memory", "MiB", {"halyard_kib": "Halyard", "litert_kib": "LiteRT"})],
}
COLOURS = ("#1f6feb", "#d1602b")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 480, 280, 64, 16, 36, 44


def _value(point, key):
    """None without a figure."""
    if point[key] is None:
        return None
    return point[key] / 1024 if key.endswith("_kib") else point[key]


def _short(number):
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:g}{unit}"
    return f"{number:.3g}"


def chart(title, unit, axis, points, lines):
    """One SVG with equal distances between the points, and values from 0 on."""
    values = [_value(point, key) for point in points for key in lines]
    most = max(value for value in values if value is not None) * 1.08 or 1
    across = lambda i: LEFT + (WIDTH - LEFT - RIGHT) * (i + 0.5) / len(points)  # noqa: E731
    up = lambda value: HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / most  # noqa: E731
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             f'font-family="sans-serif" font-size="12" role="img" aria-label="{title}">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
             f'<text x="{LEFT}" y="18" font-size="14" fill="#222">{title}, {unit}</text>']
    for step in range(5):
        value = most * step / 4
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(value):.1f}" '
                     f'y2="{up(value):.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{up(value) + 4:.1f}" text-anchor="end" '
                     f'fill="#555">{_short(value)}</text>')
    for i, point in enumerate(points):
        parts.append(f'<text x="{across(i):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle" '
                     f'fill="#555">{_short(point[axis])}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle" '
                 f'fill="#222">{axis}</text>')
    for number, (key, label) in enumerate(lines.items()):
        colour = COLOURS[number]
        places = [(across(i), up(_value(point, key))) for i, point in enumerate(points)
                  if _value(point, key) is not None]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        parts.append(f'<text x="{WIDTH - RIGHT - 4}" y="{18 + 14 * number}" text-anchor="end" '
                     f'fill="{colour}">{label}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def draw(run, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for part in run["parts"]:
        model = part["model"]
        for number, (title, unit, lines) in enumerate(CHARTS[part["part"]]):
            name = "_".join(text for text in (part["part"], model, str(number or "")) if text)
            heading = title if model is None else f"{model}: {title}"
            (folder / f"{name}.svg").write_text(
                chart(heading, unit, AXES[part["part"]], part["points"], lines))
