"""Import reports as MCP resources, so that clients can read them after the conversation has ended."""

from itertools import islice

import mcp_types as types
import msgspec

from memglot.errors import NotFound
from memglot.mcp.tool import Call
from memglot.results import import_value

_IMPORTS = "memglot://imports"
_MAX_LISTED = 100

IMPORT_LIST = types.Resource(
    uri=_IMPORTS,
    name="imports",
    title="Imports",
    description=f"The last {_MAX_LISTED} imports, newest first.",
    mime_type="application/json",
)
IMPORT_REPORT = types.ResourceTemplate(
    uri_template=f"{_IMPORTS}/{{id}}",
    name="import",
    title="Import report",
    description="The result of an import: counts, errors, notes, and its state: `done`, or `stopped` or `open` if it "
    "was interrupted.",
    mime_type="application/json",
)


def read_resource(call: Call, uri: str) -> str:
    """Return a resource as JSON. Raise `NotFound` if there is none with this URI."""
    if uri != _IMPORTS and not uri.startswith(f"{_IMPORTS}/"):
        raise NotFound("resource", uri, "use `memglot://imports` or `memglot://imports/{id}`")
    id = uri[len(_IMPORTS) + 1 :]
    with call.memory() as memory:
        if id:
            return msgspec.json.encode(import_value(memory.import_report(id))).decode()
        found = [import_value(entry) for entry in islice(memory.imports(), _MAX_LISTED)]
        return msgspec.json.encode({"imports": found}).decode()
