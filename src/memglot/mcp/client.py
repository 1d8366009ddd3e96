"""What a server asks and tells the client of a call: its name, its folders, and how far something is."""

from __future__ import annotations

import threading
import time
import warnings
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import anyio.from_thread
import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from pydantic import BaseModel

from memglot.mcp.errors import no_client_folder, silent_client
from memglot.mcp.roots import folders_from_uris
from memglot.report import Progress, ShowProgress, Stopped

Context: TypeAlias = ServerRequestContext[Any, Any]
_PROGRESS_SECONDS = 0.25
"""So many seconds lie between two tellings of progress at the least."""
_TIMEOUT_SECONDS = 10.0
_ROOTS_REQUEST = "roots"


class _Root(BaseModel):
    """A folder that a client names; some clients name places that are no files."""

    uri: str


class _Roots(BaseModel):
    roots: list[_Root]


def client_name(context: Context) -> str:
    """What the client calls itself; empty where it does not say."""
    params = context.session.client_params
    return params.client_info.name if params is not None and params.client_info is not None else ""


async def client_folders(
    context: Context, params: types.CallToolRequestParams
) -> list[Path] | types.InputRequiredResult:
    """The folders that the client works in; none where it has none to name."""
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return []
    answered = (params.input_responses or {}).get(_ROOTS_REQUEST)
    if isinstance(answered, types.ListRootsResult):
        return _usable([str(root.uri) for root in answered.roots])
    if not context.session.can_send_request:
        # A client of today's protocol is asked by the answer to its call, which it then makes again.
        return types.InputRequiredResult(input_requests={_ROOTS_REQUEST: types.ListRootsRequest()})
    try:
        with anyio.fail_after(_TIMEOUT_SECONDS), warnings.catch_warnings():
            # Clients of the protocols before it are asked directly, which is deprecated for those of today.
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            found = await context.session.send_request(types.ListRootsRequest(), _Roots)
    except (TimeoutError, MCPError, ValueError) as error:
        raise silent_client(str(error)) from None
    return _usable([root.uri for root in found.roots])


def _usable(uris: list[str]) -> list[Path]:
    found = folders_from_uris(uris)
    if uris and not found:
        raise no_client_folder(uris)
    return found


def progress_reporter(context: Context, stop: threading.Event) -> ShowProgress:
    """Tells the client how far something is, not too often, and ends it when nobody wants it any more."""
    last = time.monotonic()

    def report_progress(progress: Progress) -> None:
        nonlocal last
        if stop.is_set():
            raise Stopped
        if time.monotonic() - last >= _PROGRESS_SECONDS:
            last = time.monotonic()
            done = progress.read or progress.written
            anyio.from_thread.run(context.session.report_progress, float(done), None, f"{done:,} memories")

    return report_progress
