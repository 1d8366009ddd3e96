"""Requests from the server to the client of a call: its name, its folders, and progress notifications."""

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

from memglot.display import shorten
from memglot.errors import UsageError
from memglot.mcp.roots import NAME_A_ROOT, folders_from_uris
from memglot.report import Progress, ShowProgress, Stopped

Context: TypeAlias = ServerRequestContext[Any, Any]
_PROGRESS_SECONDS = 0.25
"""Minimum time between two progress notifications."""
_TIMEOUT_SECONDS = 10.0
_ROOTS_REQUEST = "roots"


class _Root(BaseModel):
    """A folder that a client names. The URI is plain text, since some clients name places that are not files."""

    uri: str


class _Roots(BaseModel):
    roots: list[_Root]


def client_name(context: Context) -> str:
    """Return the name that the client gives itself, or an empty string."""
    params = context.session.client_params
    return params.client_info.name if params is not None and params.client_info is not None else ""


async def client_folders(
    context: Context, params: types.CallToolRequestParams
) -> list[Path] | types.InputRequiredResult:
    """Return the folders that the client works in, or none if it names none."""
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return []
    answered = (params.input_responses or {}).get(_ROOTS_REQUEST)
    if isinstance(answered, types.ListRootsResult):
        return _usable([str(root.uri) for root in answered.roots])
    if not context.session.can_send_request:
        # Clients of the current protocol are asked in the result of their call, and then call again.
        return types.InputRequiredResult(input_requests={_ROOTS_REQUEST: types.ListRootsRequest()})
    try:
        with anyio.fail_after(_TIMEOUT_SECONDS), warnings.catch_warnings():
            # Clients of earlier protocols are asked directly, which is deprecated for current ones.
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            found = await context.session.send_request(types.ListRootsRequest(), _Roots)
    except (TimeoutError, MCPError, ValueError) as error:
        reason = f": {shorten(str(error), 200)}" if str(error) else ""
        raise UsageError(f"the client did not say which folders it works in{reason}", NAME_A_ROOT) from None
    return _usable([root.uri for root in found.roots])


def _usable(uris: list[str]) -> list[Path]:
    found = folders_from_uris(uris)
    if uris and not found:
        raise UsageError(
            f"none of the client's roots is a folder on this machine: {shorten(', '.join(uris), 200)}", NAME_A_ROOT
        )
    return found


def progress_reporter(context: Context, stop: threading.Event) -> ShowProgress:
    """Return a function that notifies the client of progress, and raises `Stopped` once `stop` is set."""
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
