"""`memglot formats`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command
from memglot.formats.overview import format_fields, format_matrix, format_rows, matrix_grid


@command(
    "formats",
    examples="""
    memglot formats
    memglot formats --matrix
    """,
)
@click.option("--matrix", is_flag=True, help="Show what each pair of formats keeps, carries and drops.")
def formats(session: Session, matrix: bool) -> None:
    """List the formats that memglot can read and write."""
    if matrix:
        grid = matrix_grid()
        widths = [max(len(row[column]) for row in grid) for column in range(len(grid[0]))]
        lines = ["native fields + fields in the carry slot, from (rows) to (columns):", ""]
        lines += [
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in grid
        ]
        lines += ["", *(f"{name}: {', '.join(homes)}" for name, homes, _ in format_fields())]
        session.print_result({"matrix": format_matrix()}, lines, always=True)
        return
    rows = format_rows()
    lines = [
        f"{row['name']:<17} {'read' if row['read'] else '    '} {'write' if row['write'] else '     '} "
        f"{', '.join(row['extensions']):<22} {row['title']}"
        for row in rows
    ]
    session.print_result({"formats": rows}, lines, always=True)
