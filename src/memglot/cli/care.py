"""`formats`, `stats`, `embed`, `consolidate`, `doctor`, `backup`, `restore`, `completion`, `serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from memglot.cli.session import Session, command, memories


@command("formats")
@click.option("--matrix", is_flag=True, help="What each pair of formats keeps, carries or drops.")
def formats(session: Session, matrix: bool) -> None:
    """List what can be read and written, and what survives."""
    from memglot.formats.overview import format_homes, format_matrix, format_rows, matrix_grid

    if matrix:
        grid = matrix_grid()
        widths = [max(len(row[column]) for row in grid) for column in range(len(grid[0]))]
        lines = ["fields in their own place + in the carry slot, from (rows) to (columns):", ""]
        lines += [
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in grid
        ]
        lines += ["", *(f"{name}: {', '.join(homes)}" for name, homes, _ in format_homes())]
        session.print_result({"matrix": format_matrix()}, lines, always=True)
        return
    rows = format_rows()
    lines = [
        f"{row['name']:<16} {'read' if row['read'] else '    '} {'write' if row['write'] else '     '} "
        f"{', '.join(row['extensions']):<22} {row['title']}"
        for row in rows
    ]
    session.print_result({"formats": rows}, lines, always=True)


@command("stats")
def stats(session: Session) -> None:
    """Show how much of what the store keeps."""
    with session.memory() as memory:
        value = memory.stats()
    lines = [f"{memories(value['memories'])} in {value['store']} ({value['bytes']:,} bytes)"]
    for name in ("kinds", "scopes", "tags", "things"):
        if value[name]:
            lines.append(f"{name}: " + ", ".join(f"{key} {count:,}" for key, count in value[name].items()))
    vectors = value["vectors"]
    if vectors["count"]:
        missing = f", {vectors['missing']:,} cannot yet" if vectors["missing"] else ""
        lines.append(f"found by meaning: {vectors['count']:,}{missing} ({vectors['model']})")
    lines.append(f"{value['imports']:,} imports, {value['events']:,} audit rows")
    session.print_result(value, lines, always=True)


@command("embed")
@click.option("--model", metavar="NAME", help="Another embedder; its vectors take the place of all others.")
@click.option("--again", is_flag=True, help="Make all vectors anew.")
def embed(session: Session, model: str | None, again: bool) -> None:
    """Let memories that were imported be found by their meaning.

    Everything happens on this machine. What is added one by one can be found at once. A run that is stopped goes on
    where it was.
    """
    with session.memory(write=True) as memory, session.counting("embedding") as count:
        done = memory.embed(model, again=again, progress=count)
    text = f"embedded {memories(done.embedded)}" if done.embedded else "nothing to embed"
    value = {"embedded": done.embedded, "total": done.total, "model": done.model, "dimensions": done.dimensions}
    session.print_result(value, f"{text}; {done.total:,} can be found by meaning ({done.model})")


@command("consolidate")
@click.option("--dry-run", is_flag=True, help="Say what would happen and write nothing.")
def consolidate(session: Session, dry_run: bool) -> int:
    """Merge memories of the same content, kind and scope, and bring strengths up to date.

    The oldest of several doubles stays, and takes in what the others say; `undelete` brings one back. A strength
    fades from the day its memory arrived or was last used. Nothing is deleted for being weak.
    """
    from memglot.editing.decay import FADED

    with session.memory(write=not dry_run) as memory:
        result = memory.consolidate(dry_run=dry_run)
    done = "would have merged" if dry_run else "merged"
    lines = [f"{done} {memories(result.merged)}, updated {result.updated:,} strengths"]
    if result.faded:
        lines.append(f"{result.faded:,} of {memories(result.memories)} faded below {FADED:g} and stay")
    session.print_result(result.value(), lines if result.merged or result.updated else ["nothing changed", *lines[1:]])
    return result.exit_code


@command("doctor")
@click.option("--fix", is_flag=True, help="Rebuild the indexes and the full text from the memories.")
def doctor(session: Session, fix: bool) -> int:
    """Check the store: its file, every memory, the full text, the audit chain."""
    from memglot.exporting.verify import verdict_value

    with session.memory(write=fix) as memory:
        verdict = memory.doctor(fix=fix)
    lines = [f"{verdict.path}: {verdict.state}, {memories(verdict.count)}"]
    session.print_result(verdict_value(verdict), lines + [f"  {problem}" for problem in verdict.problems])
    return 0 if verdict.ok else 1


@command("backup")
@click.argument("path", type=click.Path())
@click.option("--force", is_flag=True, help="Overwrite what is there.")
def backup(session: Session, path: str, force: bool) -> None:
    """Write a clean copy of the whole store to PATH."""
    with session.memory() as memory:
        size = memory.backup(path, force=force)
    session.print_result({"path": path, "bytes": size}, f"wrote {path} ({size:,} bytes)")


@command("restore")
@click.argument("path", type=click.Path())
@click.option("--force", is_flag=True, help="Replace the present store; it is kept as `<name>.before-restore`.")
def restore(session: Session, path: str, force: bool) -> None:
    """Put a backup in the place of the store, after checking that it is whole."""
    from memglot.editing.maintenance import restore as restore_

    place, count = restore_(Path(path), session.store, force=force, tell=session.print_note)
    session.print_result({"path": str(place), "memories": count}, f"restored {memories(count)} to {place}")


@command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(session: Session, shell: str) -> None:
    """Print the completion script of a shell: eval "$(memglot completion bash)"."""
    from click.shell_completion import get_completion_class

    from memglot.cli.main import cli

    found: Any = get_completion_class(shell)
    click.echo(found(cli, {}, "memglot", "_MEMGLOT_COMPLETE").source())


@command("serve")
@click.option("--port", type=int, help="The port to listen on.")
@click.option("--open", "open_", is_flag=True, help="Open it in the browser.")
def serve(session: Session, port: int | None, open_: bool) -> None:
    """Open the web viewer (not part of this version)."""
    from memglot.errors import no_viewer

    raise no_viewer()


COMMANDS = {
    "formats": formats,
    "stats": stats,
    "embed": embed,
    "consolidate": consolidate,
    "doctor": doctor,
    "backup": backup,
    "restore": restore,
    "completion": completion,
    "serve": serve,
}
