"""Serve clients on this machine over streamable HTTP: those that have the token, and no web page."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Callable

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from memglot.errors import StoreError
from memglot.mcp.config import ServerConfig
from memglot.mcp.server import MemglotServer
from memglot.settings import MAX_BODY_BYTES

HOST = "127.0.0.1"
PATH = "/mcp"


def serve(config: ServerConfig, port: int, token: str, started: Callable[[str], None]) -> None:
    """Serve until the process is stopped. Port 0 means any free port; `started` is called with the server's URL."""
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
    listener.listen(128)
    port = listener.getsockname()[1]
    names = [f"{name}:{port}" for name in (HOST, "localhost")]
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
    started(f"http://{HOST}:{port}{PATH}")
    uvicorn_config = uvicorn.Config(RequireToken(app, token), log_level="critical", lifespan="on", server_header=False)
    uvicorn.Server(uvicorn_config).run(sockets=[listener])


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
