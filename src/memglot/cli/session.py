"""What all commands share: the options, where output goes, and how errors are shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from memglot.memory import Memory
    from memglot.report import Fault, Report

F = TypeVar("F", bound=Callable[..., Any])
LIMIT = click.IntRange(0, 2**63 - 1)
_SHOWN_FAULTS = 20


class Face:
    """The options given to this run, and its way of speaking."""

    def __init__(self) -> None:
        # `--json` counts even when the command line is wrong behind it.
        self.json = "--json" in sys.argv[1:]
        self.store: str | None = None
        self.quiet = False
        self.no_progress = False
        self.lands = False
        """Whether this run lands what it reads in batches, of which whole ones stay when it is stopped."""

    @contextmanager
    def memory(self, *, write: bool = False, dry_run: bool = False) -> Iterator[Memory]:
        """The store of this run. What it has to say goes to standard error."""
        from memglot.memory import Memory

        memory = Memory.open_for_dry_run(self.store) if dry_run else Memory.open(self.store, write=write)
        with memory:
            told = list(memory.notes)
            for note in told:
                self.warn(note)
            try:
                yield memory
            finally:
                for note in memory.notes:
                    if note not in told:
                        self.warn(note)

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[Report], None] | None]:
        """A progress bar, on a terminal, for work longer than a second."""
        if self.quiet or self.no_progress or not sys.stderr.isatty():
            yield None
            return
        from memglot.cli.progress import Bar

        with Bar(what) as bar:
            yield bar.show

    @contextmanager
    def counting(self, what: str) -> Iterator[Callable[[int, int], None] | None]:
        """A progress bar for so many done of so many."""
        if self.quiet or self.no_progress or not sys.stderr.isatty():
            yield None
            return
        from memglot.cli.progress import Bar

        with Bar(what) as bar:
            yield bar.count

    def answer(self, value: Any, text: str | list[str], *, asked: bool = False) -> None:
        """Give the result: as JSON if that was wanted, else as text.

        What was `asked` for is shown even where all else is to be quiet.
        """
        if self.json:
            from memglot.cli.json_output import write_json

            write_json(value, sys.stdout.buffer)
        elif text and (asked or not self.quiet):
            click.echo("\n".join(text) if isinstance(text, list) else text)

    def faults(self, faults: Iterator[Fault]) -> None:
        """Show what could not be read, on standard error; of very many, the first few."""
        hidden = 0
        for number, fault in enumerate(faults):
            if number < _SHOWN_FAULTS:
                click.echo(f"error: {fault}" + (f" (hint: {fault.hint})" if fault.hint else ""), err=True)
            else:
                hidden += 1
        if hidden:
            click.echo(f"error: and {hidden:,} more; `--json` lists them all", err=True)

    def warn(self, text: str) -> None:
        """A note for a person, on standard error."""
        if not self.quiet:
            click.echo(f"note: {text}", err=True)

    def tell(self, notes: Iterable[str]) -> None:
        """The notes of an answer, for a person; in JSON the answer holds them itself."""
        if not self.json:
            for note in notes:
                self.warn(note)

    def fail(self, code: str, message: str, hint: str | None) -> None:
        """Show a fatal error."""
        if self.json:
            from memglot.cli.json_output import write_json

            write_json({"error": {"code": code, "message": message, "hint": hint}}, sys.stdout.buffer)
            return
        click.echo(f"error: {message}", err=True)
        if hint:
            click.echo(f"\nhint: {hint}", err=True)


def memories(count: int) -> str:
    """So many memories, in words."""
    return "1 memory" if count == 1 else f"{count:,} memories"


def shared_options(command: F) -> F:
    """The options that may stand before or behind a command's name."""

    def keep(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
        def callback(ctx: click.Context, _: click.Parameter, value: Any) -> None:
            if value:
                setattr(ctx.ensure_object(Face), name, value)

        return callback

    for option in (
        click.option("--no-progress", is_flag=True, expose_value=False, callback=keep("no_progress"), help="No bars."),
        click.option("--quiet", "-q", is_flag=True, expose_value=False, callback=keep("quiet"), help="Errors only."),
        click.option("--json", is_flag=True, expose_value=False, callback=keep("json"), help="Answer in JSON."),
        click.option("--store", metavar="URL", expose_value=False, callback=keep("store"), help="The store to use."),
    ):
        command = option(command)
    return command


def command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """A command with the shared options, called with the `Face` first."""

    def wrap(function: Callable[..., Any]) -> click.Command:
        return click.command(name)(shared_options(click.pass_obj(function)))

    return wrap


def filter_options(function: F) -> F:
    """The filters of `list`, `export` and `search`."""
    for option in (
        click.option("--temporal-after", metavar="TIME", help="About a time that begins after this moment."),
        click.option("--temporal-before", metavar="TIME", help="About a time that is over at this moment."),
        click.option("--temporal-within", metavar="START,END", help="About a time inside this range."),
        click.option("--temporal-overlaps", metavar="START,END", help="About a time that overlaps this range."),
        click.option("--temporal-contains", metavar="TIME", help="About a time that contains this moment."),
        click.option("--updated-until", metavar="TIME", help="Last changed before."),
        click.option("--updated-since", metavar="TIME", help="Last changed at or after."),
        click.option("--until", metavar="TIME", help="Created before."),
        click.option("--since", metavar="TIME", help="Created at or after; `2024` and `2024-05` are times too."),
        click.option(
            "--source",
            multiple=True,
            metavar="SOURCE",
            help="From this tool, or KEY=VALUE, or a JSON object; given several times, from any.",
        ),
        click.option("--meta", metavar="JSON", help="Whose metadata contain this object."),
        click.option("--status", multiple=True, help="Of this status; given several times, of any."),
        click.option("--scope", multiple=True, help="Of this scope; given several times, of any."),
        click.option("--kind", multiple=True, help="Of this kind; given several times, of any."),
        click.option("--not-tag", "without_tags", multiple=True, help="Without this tag; may be given several times."),
        click.option("--tag", "tags", multiple=True, help="With this tag; given several times, with all."),
        click.option(
            "--tree", metavar="PATH", help="At this path or below; or a pattern, such as `work.*.a|b` or `a & !b`."
        ),
    ):
        function = option(function)
    return function


_FILTERS = (
    *("tree", "tags", "without_tags", "kind", "scope", "status", "meta", "source"),
    *("since", "until", "updated_since", "updated_until"),
    *("temporal_contains", "temporal_overlaps", "temporal_within", "temporal_before", "temporal_after"),
)


def filters_of(options: dict[str, Any]) -> dict[str, Any]:
    """The filter options of a command, taken out of all its options and read."""
    found = {name: options.pop(name) for name in _FILTERS}
    found["meta"] = json_object(found["meta"], "--meta") if found["meta"] else None
    for name in ("temporal_overlaps", "temporal_within"):
        found[name] = range_of(found[name], name) if found[name] else None
    return found


def range_of(text: str, name: str) -> tuple[str, str]:
    """Two times with a comma between."""
    start, comma, end = text.partition(",")
    if not comma:
        raise click.UsageError(f"--{name.replace('_', '-')} takes two times with a comma between, START,END")
    return start.strip(), end.strip()


def json_object(text: str, option: str) -> dict[str, Any]:
    """A JSON object from the command line."""
    import msgspec

    try:
        return msgspec.json.decode(text.encode(), type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise click.UsageError(f"{option} takes a JSON object: {error}") from None
