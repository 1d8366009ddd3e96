"""`memglot demo`."""

from __future__ import annotations

from pathlib import Path

import click

from memglot.cli.session import Session, command
from memglot.display import first_few


@command(
    "demo",
    examples="""
    memglot demo
    memglot demo sample
    memglot demo --remove sample
    """,
)
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--remove", is_flag=True, help="Remove the demo in FOLDER.")
def demo(session: Session, folder: Path | None, remove: bool) -> None:
    """Create a store with a year of sample memories to try memglot with.

    The demo is in FOLDER, which must be new or empty (default: a temporary folder). Your own store is not used. The
    command prints what to try.
    """
    from memglot.demo.folder import make_demo, remove_demo
    from memglot.errors import UsageError

    if session.store is not None:
        raise UsageError("the demo has a store of its own", "name a folder instead: `memglot demo FOLDER`")
    if remove:
        if folder is None:
            raise click.UsageError("`--remove` needs the folder of the demo")
        others = remove_demo(folder)
        kept = f"; kept {first_few(others)}" if others else ""
        session.print_result({"removed": str(folder), "kept": others}, f"removed the demo in {folder}{kept}")
        return
    with session.progress("creating the demo") as progress:
        made = make_demo(folder, progress)
    commands = made.commands()
    width = max(len(line) for line, _ in commands[1:-1])
    lines = [f"A year of sample memories is in {made.store} ({made.memories} memories).", "", "Try:"]
    lines += [f"  {line.ljust(width)}  # {about}" for line, about in commands]
    lines += ["", f"Your own store is not changed. `memglot demo --remove {made.folder}` removes the demo."]
    value = {"store": str(made.store), "folder": str(made.folder), "memories": made.memories}
    session.print_result(value | {"commands": [line for line, _ in commands]}, lines, always=True)
