"""Tables on standard output: rich in a terminal, aligned text where it is piped."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["print_table"]


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1
) -> None:
    """Print a table.

    Args:
        title: printed above it.
        columns: headings.
        rows: cells, one a column.
        left: the first so many columns are aligned left, the others right.
    """
    if sys.stdout.isatty():
        table = Table()
        for i, name in enumerate(columns):
            table.add_column(name, justify="left" if i < left else "right", overflow="fold")
        for row in rows:
            table.add_row(*[Text(cell) for cell in row])
        console = Console(file=sys.stdout)
        # A title of the table itself would be folded to the table's width.
        console.print(Text(title, style="bold"))
        console.print(table)
        return
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    print(title)
    for row in (columns, *rows):
        cells = (
            c.ljust(w) if i < left else c.rjust(w)
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join(cells).rstrip())
    print()
