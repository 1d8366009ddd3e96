"""What a tool is: its name, what it takes and answers, what it may do, and the function that does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from memglot.errors import UsageError
from memglot.mcp.config import ServerConfig
from memglot.mcp.errors import no_parameter
from memglot.mcp.roots import Roots
from memglot.mcp.store_pool import StorePool
from memglot.memory import Memory
from memglot.report import ShowProgress

A = TypeVar("A", bound="Arguments")


class Arguments(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a tool takes. Everything that may be left out may also be null."""


class Answer(NamedTuple):
    """What a tool answers: a value of the shape it promises, and what is shown of it to a model.

    Without a `text` that is the value as JSON. `notes` are further sentences, `link` the address of more.
    """

    value: Any
    text: str | None = None
    notes: tuple[str, ...] = ()
    link: str | None = None
    failed: bool = False


class Call:
    """One call of a tool: what it may use, and whom it tells of its progress."""

    def __init__(
        self,
        config: ServerConfig,
        pool: StorePool,
        roots: Roots,
        progress: ShowProgress | None = None,
        client: str = "",
    ) -> None:
        self.config, self.roots, self.progress, self.client = config, roots, progress, client
        self._pool = pool

    @contextmanager
    def memory(self, *, write: bool = False) -> Iterator[Memory]:
        """The store that is served."""
        with self._pool.acquire(write=write) as memory:
            yield memory

    def resolve(self, path: str) -> Path:
        """The real place of a path, which must be inside of the allowed folders."""
        return self.roots.resolve(path)


class Tool(msgspec.Struct, Generic[A], frozen=True, kw_only=True):
    """A tool. Its description, and those of its parameters, are what an agent chooses by."""

    name: str
    title: str
    description: str
    input: type[A]
    output: type[Any]
    run: Callable[[Call, A], Answer]
    read_only: bool = False
    """Whether it changes nothing, in no store and no file."""
    destructive: bool = False
    idempotent: bool = False
    """Whether calling it again with the same arguments changes nothing more."""
    touches_files: Callable[[A], bool] = lambda _: False
    """Whether it needs to know which folders are allowed."""

    def input_schema(self) -> dict[str, Any]:
        """What it takes, as a JSON schema."""
        return _schema(self.input)

    def output_schema(self) -> dict[str, Any]:
        """What it answers, as a JSON schema."""
        return _schema(self.output)

    def parse(self, given: dict[str, Any] | None) -> A:
        """Arguments that fit; raises `UsageError` that says in one sentence what does not."""
        known = _fields(self.input)
        given = given or {}
        for name in given:
            if name not in known:
                raise no_parameter(self.name, name, list(known))
        for name, required in known.items():
            if required and given.get(name) is None:
                raise UsageError(f"`{self.name}` needs `{name}`")
        try:
            return msgspec.convert(given, self.input)
        except msgspec.ValidationError as error:
            reason, _, place = str(error).partition(" - at `$.")
            raise _bad_parameter(self.name, place.rstrip("`"), reason[:1].lower() + reason[1:]) from None


@cache
def _fields(kind: type[Arguments]) -> dict[str, bool]:
    """The names of the parameters, and which are required. Reading the annotations takes a millisecond, so once."""
    return {field.name: field.required for field in msgspec.structs.fields(kind)}


def always(_: Any) -> bool:
    """For tools that touch files whatever they are given."""
    return True


def _schema(kind: type[Any]) -> dict[str, Any]:
    """A schema that is an object itself, as the protocol wants it, with what it refers to inside of it."""
    _, parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    schema: dict[str, Any] = parts.pop(kind.__name__)
    schema.pop("title", None)
    schema.pop("description", None)
    return {"type": "object", **schema, **({"$defs": parts} if parts else {})}


def _bad_parameter(tool: str, name: str, reason: str) -> UsageError:
    """A parameter of the wrong type or shape."""
    return UsageError(f"`{tool}`: `{name}`: {reason}")
