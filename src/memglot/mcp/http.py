"""Serve clients on this machine over streamable HTTP: those that have the token, and no web page."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.streamable_http import GET_STREAM_KEY
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memglot.errors import StoreError
from memglot.mcp.config import ServerConfig
from memglot.mcp.connections import LimitedProtocol, Limits
from memglot.mcp.frames import InvalidFrame, parse_frame, too_large
from memglot.mcp.logs import limit_logs
from memglot.mcp.server import MemglotServer
from memglot.settings import MAX_BODY_BYTES

HOST = "127.0.0.1"
PATH = "/mcp"
_BACKLOG = 128


def serve(config: ServerConfig, port: int, token: str, started: Callable[[str], None]) -> None:
    """Serve until the process is stopped. Port 0 means any free port; `started` is called with the server's URL."""
    limit_logs()
    listener = listen(port)
    started(url_of(listener))
    http_server(config, listener, token).run(sockets=[listener])


def listen(port: int) -> socket.socket:
    """Return a socket that listens on this machine only. Raise `StoreError` if the port is in use."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise StoreError(
            f"cannot listen on 127.0.0.1:{port}: {(error.strerror or str(error)).lower()}",
            "choose another one with `--port`; 0 means any free port",
        ) from None
    listener.listen(_BACKLOG)
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the URL of the server at a socket."""
    return f"http://{HOST}:{listener.getsockname()[1]}{PATH}"


def http_server(config: ServerConfig, listener: socket.socket, token: str, limits: Limits = Limits()) -> uvicorn.Server:
    """Return a server for a socket."""
    names = [f"{name}:{listener.getsockname()[1]}" for name in (HOST, "localhost")]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=names,
        allowed_origins=[f"http://{name}" for name in names],
    )
    app = (
        MemglotServer(config)
        .server()
        .streamable_http_app(
            streamable_http_path=PATH, transport_security=security, max_request_body_size=MAX_BODY_BYTES
        )
    )
    protocol: Any = partial(LimitedProtocol, limits=limits, waiting={})
    return uvicorn.Server(
        uvicorn.Config(
            RequireToken(CheckBody(app), token),
            http=protocol,
            ws="none",
            log_config=None,
            log_level="critical",
            access_log=False,
            lifespan="on",
            server_header=False,
            backlog=_BACKLOG,
        )
    )


class RequireToken:
    """ASGI middleware that rejects requests without the bearer token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request that has the token; answer any other with status 401."""
        if scope["type"] == "http":
            given = Headers(scope=scope).get("authorization", "").encode("latin-1", "replace")
            # The scheme is case-insensitive. The comparison takes constant time.
            scheme, _, rest = given.partition(b" ")
            if not hmac.compare_digest(scheme.capitalize() + b" " + rest.strip(), self._wanted):
                refusal = JSONResponse(
                    {"error": "a bearer token is required; print it with `memglot mcp token`"},
                    status_code=401,
                    headers={"WWW-Authenticate": "Bearer"},
                )
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


class CheckBody:
    """ASGI middleware that answers bodies that are not one message, with the id of the request if there is one.

    The SDK would answer them without the id, and would leave a request unanswered whose id is in use in its session.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._in_use: set[tuple[str, str]] = set()
        """The sessions and ids of requests without an answer; for the SDK, `1` and `"1"` are the same."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request whose body is one message."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await _read_body(receive)
        if body is None:
            return
        session = Headers(scope=scope).get("mcp-session-id")
        try:
            if len(body) > MAX_BODY_BYTES:
                raise too_large(body, b"")
            used = self._use_id(session, parse_frame(body))
        except InvalidFrame as error:
            status = 413 if len(body) > MAX_BODY_BYTES else 400
            await Response(error.answer(), status, media_type="application/json")(scope, receive, send)
            return
        try:
            await self._app(scope, _replay(body, receive), send)
        finally:
            self._in_use -= used

    def _use_id(self, session: str | None, message: types.JSONRPCMessage) -> set[tuple[str, str]]:
        """Record the id of a request. Raise `InvalidFrame` if it is in use."""
        if session is None or not isinstance(message, types.JSONRPCRequest):
            return set()
        key = (session, str(message.id))
        if key in self._in_use or key[1] == GET_STREAM_KEY:
            raise InvalidFrame("this id is already used by another request", message.id)
        self._in_use.add(key)
        return {key}


async def _read_body(receive: Receive) -> bytes | None:
    """Return a body, or the start of one that is too large; None if the client has gone."""
    body = bytearray()
    while len(body) <= MAX_BODY_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a function that returns a body which was already read."""
    waiting = [body]

    async def replay() -> Message:
        return {"type": "http.request", "body": waiting.pop(), "more_body": False} if waiting else await receive()

    return replay
