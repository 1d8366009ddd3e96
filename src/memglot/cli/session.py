"""What all commands share: their common options, the store they open, and how results and errors are printed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from memglot.memory import Memory
    from memglot.report import Fault, ShowProgress

F = TypeVar("F", bound=Callable[..., Any])
LIMIT = click.IntRange(0, 2**63 - 1)
_MAX_ERRORS_SHOWN = 20


class Session:
    """The common options of one run of the command line, and its output."""

    def __init__(self) -> None:
        # Honour `--json` even if the rest of the command line is wrong.
        self.json = "--json" in sys.argv[1:]
        self.store: str | None = None
        self.quiet = False
        self.no_progress = False
        self._printed: set[str] = set()
        self.writes_batches = False
        """True while an import runs: if it is interrupted, the batches written so far are kept."""

    @contextmanager
    def memory(self, *, write: bool = False, dry_run: bool = False) -> Iterator[Memory]:
        """Open the store of this run, and print its notes to standard error."""
        from memglot.memory import Memory

        # Opening a store upgrades it, and completes what an interrupted import left.
        with self.working("opening the store"):
            memory = Memory.open_for_dry_run(self.store) if dry_run else Memory.open(self.store, write=write)
        with memory:
            self._print_new_notes(memory)
            try:
                yield memory
            finally:
                self._print_new_notes(memory)

    def _print_new_notes(self, memory: Memory) -> None:
        """Print the notes of a store once, although a command may open it several times."""
        for note in memory.notes:
            if note not in self._printed:
                self._printed.add(note)
                self.print_note(note)

    def _shows_progress(self) -> bool:
        """Return True if progress bars are wanted, and can be shown."""
        if self.quiet or self.no_progress or not sys.stderr.isatty():
            return False
        from memglot.settings import setting

        return bool(setting("progress"))

    @contextmanager
    def progress(self, what: str) -> Iterator[ShowProgress | None]:
        """Show a progress bar on a terminal if the work takes longer than a second."""
        if not self._shows_progress():
            yield None
            return
        from memglot.cli.progress import Bar

        with Bar(what) as bar:
            yield bar.show

    @contextmanager
    def counting(self, what: str) -> Iterator[Callable[[int, int], None] | None]:
        """Show a progress bar for work that reports how many of how many items are done."""
        if not self._shows_progress():
            yield None
            return
        from memglot.cli.progress import Bar

        with Bar(what) as bar:
            yield bar.count

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Show on a terminal for how long work goes on that does not report how far it is."""
        if self.quiet or self.no_progress or not sys.stderr.isatty():
            yield
            return
        from memglot.cli.progress import Clock

        with Clock(what):
            yield

    def confirm(self, question: str, *, yes: bool, refusal: str, hint: str) -> None:
        """Ask on a terminal, unless the answer is `yes` already; without a terminal, raise `UsageError`.

        Raise `click.Abort` if the answer is no.
        """
        if yes:
            return
        if self.json or not (sys.stdin.isatty() and sys.stderr.isatty()):
            from memglot.errors import UsageError

            raise UsageError(refusal, hint)
        click.confirm(question, abort=True, err=True)

    def print_result(self, value: Any, text: str | list[str], *, always: bool = False) -> None:
        """Print `value` as JSON with `--json`, else `text`; with `--quiet` only if it is `always` printed."""
        if self.json:
            from memglot.cli.json_output import write_json

            write_json(value, sys.stdout.buffer)
        elif text and (always or not self.quiet):
            click.echo("\n".join(text) if isinstance(text, list) else text)

    def print_list(self, values: Iterable[Any], line: Callable[[Any], str]) -> None:
        """Print values one at a time, each on a line; with `--json`, as a list of results."""
        if self.json:
            from memglot.cli.json_output import Stream
            from memglot.model import to_builtins

            self.print_result({"results": Stream(map(to_builtins, values))}, "")
            return
        count = 0
        for value in values:
            click.echo(line(value))
            count += 1
        if not count:
            click.echo("none")

    def print_errors(self, errors: Iterator[Fault]) -> None:
        """Print the items that could not be read to standard error, the first 20 of them."""
        hidden = 0
        for number, error in enumerate(errors):
            if number < _MAX_ERRORS_SHOWN:
                click.echo(f"error: {error}" + (f" (hint: {error.hint})" if error.hint else ""), err=True)
            else:
                hidden += 1
        if hidden:
            click.echo(f"error: and {hidden:,} more; use `--json` to list all of them", err=True)

    def print_note(self, text: str) -> None:
        """Print a note to standard error, unless `--quiet` is set."""
        if not self.quiet:
            click.echo(f"note: {text}", err=True)

    def print_notes(self, notes: Iterable[str]) -> None:
        """Print the notes of a result, unless `--json` is set: the JSON value contains them."""
        if not self.json:
            for note in notes:
                self.print_note(note)

    def print_error(self, code: str, message: str, hint: str | None) -> None:
        """Print a fatal error."""
        if self.json:
            from memglot.cli.json_output import write_json

            write_json({"error": {"code": code, "message": message, "hint": hint}}, sys.stdout.buffer)
            return
        click.echo(f"error: {message}", err=True)
        if hint:
            click.echo(f"\nhint: {hint}", err=True)


class _WithExamples(click.Command):
    """A command whose help ends with examples, each printed on a line of its own."""

    examples = ""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples.splitlines():
                    formatter.write(f"{'':{formatter.current_indent}}{line}".rstrip() + "\n")


class GroupWithExamples(_WithExamples, click.Group):
    """A group of commands whose help ends with examples."""


def shared_options(command: F) -> F:
    """Add the options that every command accepts, before or after its name."""

    def keep(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
        def callback(ctx: click.Context, _: click.Parameter, value: Any) -> None:
            if value:
                setattr(ctx.ensure_object(Session), name, value)

        return callback

    for option in (
        click.option(
            "--no-progress", is_flag=True, expose_value=False, callback=keep("no_progress"), help="Hide progress bars."
        ),
        click.option(
            "--quiet", "-q", is_flag=True, expose_value=False, callback=keep("quiet"), help="Print errors only."
        ),
        click.option("--json", is_flag=True, expose_value=False, callback=keep("json"), help="Print JSON."),
        click.option(
            "--store",
            metavar="URL",
            expose_value=False,
            callback=keep("store"),
            help="Path or URL of the store (default: $MEMGLOT_STORE).",
        ),
    ):
        command = option(command)
    return command


def command(
    name: str, *, examples: str = "", help_alone: bool = False
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command with the shared options, whose function gets the `Session` first.

    The help ends with `examples`: commands, one a line, and comments that start with `#`. With `help_alone`, the
    command without any argument prints its help.
    """

    def wrap(function: Callable[..., Any]) -> click.Command:
        made = click.command(name, cls=_WithExamples, no_args_is_help=help_alone)(
            shared_options(click.pass_obj(function))
        )
        made.examples = cleandoc(examples)
        return made

    return wrap


def group(
    name: str, *, examples: str = "", cls: type[GroupWithExamples] = GroupWithExamples, **settings: Any
) -> Callable[[Callable[..., Any]], click.Group]:
    """Make a group of commands with the shared options; its function gets no `Session`."""

    def wrap(function: Callable[..., Any]) -> click.Group:
        made = click.group(name, cls=cls, **settings)(shared_options(function))
        made.examples = cleandoc(examples)
        return made

    return wrap


def filter_options(function: F) -> F:
    """Add the filters of `list`, `export` and `search`."""
    for option in (
        click.option("--temporal-after", metavar="TIME", help="Only memories about a period that starts after TIME."),
        click.option("--temporal-before", metavar="TIME", help="Only memories about a period that ended by TIME."),
        click.option("--temporal-within", metavar="START,END", help="Only memories about a period within this range."),
        click.option(
            "--temporal-overlaps", metavar="START,END", help="Only memories about a period that overlaps this range."
        ),
        click.option("--temporal-contains", metavar="TIME", help="Only memories about a period that contains TIME."),
        click.option("--updated-until", metavar="TIME", help="Only memories last changed before TIME."),
        click.option("--updated-since", metavar="TIME", help="Only memories last changed at or after TIME."),
        click.option("--until", metavar="TIME", help="Only memories created before TIME."),
        click.option(
            "--since",
            metavar="TIME",
            help="Only memories created at or after TIME, such as `7d`, `yesterday` or `2024-05`.",
        ),
        click.option(
            "--source",
            multiple=True,
            metavar="SOURCE",
            help="Only memories from this tool, or whose source has this KEY=VALUE or JSON; repeat to allow several.",
        ),
        click.option("--meta", metavar="JSON", help="Only memories whose metadata contain this JSON object."),
        click.option("--status", multiple=True, help="Only memories with this status; repeat to allow several."),
        click.option("--scope", multiple=True, help="Only memories in this scope; repeat to allow several."),
        click.option("--kind", multiple=True, help="Only memories of this kind; repeat to allow several."),
        click.option(
            "--not-tag", "without_tags", multiple=True, help="Only memories without this tag; can be repeated."
        ),
        click.option("--tag", "tags", multiple=True, help="Only memories with this tag; repeat to require several."),
        click.option(
            "--tree",
            metavar="PATH",
            help="Only memories at or below this path, or matching a pattern such as `work.*.a|b`.",
        ),
    ):
        function = option(function)
    return function


_FILTERS = (
    "tree",
    "tags",
    "without_tags",
    "kind",
    "scope",
    "status",
    "meta",
    "source",
    "since",
    "until",
    "updated_since",
    "updated_until",
    "temporal_contains",
    "temporal_overlaps",
    "temporal_within",
    "temporal_before",
    "temporal_after",
)


def filters_of(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the filters from the options of a command, and return them parsed."""
    found = {name: options.pop(name) for name in _FILTERS}
    found["meta"] = json_object(found["meta"], "--meta") if found["meta"] else None
    for name in ("temporal_overlaps", "temporal_within"):
        found[name] = _range(found[name], name) if found[name] else None
    return found


def _range(text: str, name: str) -> tuple[str, str]:
    start, comma, end = text.partition(",")
    if not comma:
        raise click.UsageError(f"--{name.replace('_', '-')} needs two times separated by a comma: START,END")
    return start.strip(), end.strip()


def json_object(text: str, option: str) -> dict[str, Any]:
    """Parse a JSON object from the command line."""
    import msgspec

    try:
        return msgspec.json.decode(text.encode(), type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise click.UsageError(f"{option} is not a valid JSON object: {error}") from None
