"""The reports of imports, as resources: they can be read when the conversation that made them is gone."""

from itertools import islice

import mcp_types as types
import msgspec

from memglot.errors import NotFound
from memglot.json_values import import_value
from memglot.mcp.tool import Call

_IMPORTS = "memglot://imports"
_SHOWN = 100

LIST = types.Resource(
    uri=_IMPORTS,
    name="imports",
    title="Imports",
    description=f"The last {_SHOWN} imports, the newest first.",
    mime_type="application/json",
)
ONE = types.ResourceTemplate(
    uri_template=f"{_IMPORTS}/{{id}}",
    name="import",
    title="Report of an import",
    description="What an import did: counts, errors, notes, and its state: `done`, or `stopped` or `open` where it was "
    "cut off.",
    mime_type="application/json",
)


def read(call: Call, uri: str) -> str:
    """A resource as JSON; raises `NotFound` where there is none."""
    if uri != _IMPORTS and not uri.startswith(f"{_IMPORTS}/"):
        raise NotFound("resource", uri, "there are `memglot://imports` and `memglot://imports/{id}`")
    id = uri[len(_IMPORTS) + 1 :]
    with call.memory() as memory:
        if id:
            return msgspec.json.encode(import_value(memory.import_report(id))).decode()
        found = [import_value(entry) for entry in islice(memory.imports(), _SHOWN)]
        return msgspec.json.encode({"imports": found}).decode()
