"""Definition of a tool: its name, input and output schemas, annotations, and the function that runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from memglot.display import quoted
from memglot.errors import UsageError
from memglot.mcp.config import ServerConfig
from memglot.mcp.roots import Roots
from memglot.mcp.store_pool import StorePool
from memglot.memory import Memory
from memglot.report import ShowProgress

A = TypeVar("A", bound="Arguments")


class Arguments(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Base class of tool arguments. Every optional parameter may also be null."""


class Answer(NamedTuple):
    """The answer of a tool: a value that matches its output schema, and the text that the model reads.

    The text defaults to the value as JSON. `notes` are additional sentences, and `link` is the URI of a resource.
    """

    value: Any
    text: str | None = None
    notes: tuple[str, ...] = ()
    link: str | None = None
    failed: bool = False


class Call:
    """One call of a tool: the resources it may use, and where it reports progress."""

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
        """Open the served store for the duration of a block."""
        with self._pool.acquire(write=write) as memory:
            yield memory

    def resolve(self, path: str) -> Path:
        """Return a path with all links resolved. Raise `UsageError` if it is outside of the allowed folders."""
        return self.roots.resolve(path)


class Tool(msgspec.Struct, Generic[A], frozen=True, kw_only=True):
    """A tool. Agents choose it by its description and those of its parameters."""

    name: str
    title: str
    description: str
    input: type[A]
    output: type[Any]
    run: Callable[[Call, A], Answer]
    read_only: bool = False
    """Whether it changes neither the store nor any file."""
    destructive: bool = False
    idempotent: bool = False
    """Whether a second call with the same arguments has no further effect."""
    touches_files: Callable[[A], bool] = lambda _: False
    """Return True if a call with these arguments needs to know which folders are allowed."""

    def input_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the arguments."""
        return _schema(self.input)

    def output_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the structured result."""
        return _schema(self.output)

    def parse(self, given: dict[str, Any] | None) -> A:
        """Return validated arguments. Raise `UsageError` with one clear sentence if they are not valid."""
        known = _fields(self.input)
        given = given or {}
        for name in given:
            if name not in known:
                parameters = f"its parameters are {', '.join(known)}" if known else "it has no parameters"
                raise UsageError(f"`{self.name}` has no parameter {quoted(name, 200)}", parameters)
        for name, required in known.items():
            if required and given.get(name) is None:
                raise UsageError(f"`{self.name}` requires `{name}`")
        try:
            return msgspec.convert(given, self.input)
        except msgspec.ValidationError as error:
            reason, _, place = str(error).partition(" - at `$.")
            reason = reason[:1].lower() + reason[1:]
            raise UsageError(f"`{self.name}`: `{place.rstrip('`')}`: {reason}") from None


@cache
def _fields(kind: type[Arguments]) -> dict[str, bool]:
    """Return each parameter and whether it is required. Cached, because reading annotations takes a millisecond."""
    return {field.name: field.required for field in msgspec.structs.fields(kind)}


def always(_: Any) -> bool:
    """Return True: for tools that use files whatever their arguments are."""
    return True


def _schema(kind: type[Any]) -> dict[str, Any]:
    """Return a JSON schema of type object with its definitions inlined under `$defs`, as the protocol requires."""
    _, parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    schema: dict[str, Any] = parts.pop(kind.__name__)
    schema.pop("title", None)
    schema.pop("description", None)
    return {"type": "object", **schema, **({"$defs": parts} if parts else {})}
