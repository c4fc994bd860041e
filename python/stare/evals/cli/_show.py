"""Tables on stdout: drawn by rich on a terminal and in pipes, markdown where asked for."""

from __future__ import annotations

from stare.evals.stats.tables import Table

__all__ = ["show_table"]

_PIPE_WIDTH = 200


def show_table(table: Table, *, markdown: bool = False, title: str = "") -> None:
    """Print a table; one too wide for the terminal is printed in two parts."""
    if markdown:
        print(table.markdown())
        return
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console = Console(width=_PIPE_WIDTH)
    for part in _parts(table, console.width):
        _draw(part, console, title)


def _parts(table: Table, width: int) -> list[Table]:
    """The columns in as many parts as the width needs; the first column in each."""
    first, *others = table.header
    room, parts, names = width - _width(table, 0), [], [first]
    for at, name in enumerate(others, start=1):
        need = _width(table, at)
        if need > room and len(names) > 1:
            parts.append(names)
            names, room = [first], width - _width(table, 0)
        names.append(name)
        room -= need
    return [table.columns(*part) for part in (*parts, names)]


def _width(table: Table, column: int) -> int:
    """Width of a column with its padding; headers break between words."""
    words = table.header[column].split()
    cells = [row[column] for row in table.rows]
    return 3 + max(map(len, [*words, *cells]))


def _draw(table: Table, console: object, title: str) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable

    assert isinstance(console, Console)
    drawn = RichTable(
        box=box.SIMPLE_HEAD, pad_edge=False, title=title or None, title_justify="left"
    )
    for at, name in enumerate(table.header):
        cells = [row[at] for row in table.rows]
        drawn.add_column(
            name,
            justify="right" if at else "left",
            min_width=max(map(len, [*name.split(), *cells])),
        )
    for row in table.rows:
        drawn.add_row(*row)
    console.print(drawn)
