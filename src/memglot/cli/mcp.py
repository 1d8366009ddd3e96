"""`memglot mcp`: start the MCP server, list its tools, print its token, and connect clients."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import click

from memglot.cli.mcp_install import install, uninstall
from memglot.cli.session import Session, command, group

_PORT = 8788


@group(
    "mcp",
    invoke_without_command=True,
    examples="""
    # Connect a client
    memglot mcp install claude-code
    # Serve all clients on this machine over HTTP
    memglot mcp --transport http --port 8788
    """,
)
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
    help="How clients connect to the server.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"Port on 127.0.0.1 for HTTP; 0 means any free port (default: {_PORT}).",
)
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(),
    help="File with the bearer token for HTTP (default: $MEMGLOT_MCP_TOKEN, else a generated token).",
)
@click.option(
    "--root",
    "roots",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Only allow files below this folder; can be repeated (default: the client's folders, else the current one).",
)
@click.option("--read-only", is_flag=True, help="Only offer tools that change nothing.")
@click.option("--allow-sensitive", is_flag=True, help="Let agents use sensitive scopes.")
@click.option(
    "--passphrase-file",
    metavar="FILE",
    type=click.Path(),
    help="File with the passphrase that encrypts sensitive scopes in memories.json (default: $MEMGLOT_PASSPHRASE).",
)
@click.pass_context
def mcp(ctx: click.Context, /, roots: tuple[Path, ...], **options: Any) -> None:
    """Serve agents over the Model Context Protocol, or connect a client with `install`.

    Without a subcommand this starts the server. Clients usually start it themselves and talk to it over standard
    input and output. With `--transport http` it serves all clients on this machine that have the token.
    """
    if ctx.invoked_subcommand is None:
        _serve(ctx.ensure_object(Session), roots, **options)
        return
    for name in ("roots", *options):
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"put the options of `{ctx.invoked_subcommand}` after its name")


def _serve(
    session: Session,
    roots: tuple[Path, ...],
    transport: str,
    port: int | None,
    token_file: str | None,
    read_only: bool,
    allow_sensitive: bool,
    passphrase_file: str | None,
) -> None:
    from memglot.cli.passphrase import passphrase
    from memglot.mcp.config import ServerConfig
    from memglot.mcp.roots import check_roots

    if transport == "stdio" and (port is not None or token_file is not None):
        raise click.UsageError("`--port` and `--token-file` require `--transport http`")
    _check_store(session.store)
    config = ServerConfig(
        store=session.store,
        roots=check_roots(roots),
        read_only=read_only,
        allow_sensitive=allow_sensitive,
        # Never prompt for it, because the terminal belongs to the client.
        passphrase=passphrase(passphrase_file, ask=False),
    )
    # Importing the SDK creates thousands of classes. Collecting garbage meanwhile takes a fifth of the start-up time.
    gc.disable()
    if transport == "http":
        from memglot.mcp import http
        from memglot.mcp.token import find_token

        token, where = find_token(token_file)
        _resume_gc()
        http.serve(
            config,
            _PORT if port is None else port,
            token,
            lambda url: session.print_note(f"serving MCP at {url}; the bearer token is in {where}"),
        )
    else:
        from memglot.mcp import stdio

        _resume_gc()
        stdio.serve(config)


def _check_store(url: str | None) -> None:
    """Raise `NotYet` for an unsupported store. A damaged or locked one may be repaired later, so calls report it."""
    from memglot.errors import NotYet, StoreError
    from memglot.memory import Memory

    try:
        Memory.open_for_dry_run(url).close()
    except NotYet:
        raise
    except StoreError:
        return


def _resume_gc() -> None:
    """Turn garbage collection on again, without the objects created by imports."""
    gc.freeze()
    gc.enable()


@command("tools")
def tools(session: Session) -> None:
    """List the tools that agents can call."""
    from memglot.mcp.tools import all_tools

    found = all_tools().values()
    value = [{"name": tool.name, "description": tool.description, "reads": tool.read_only} for tool in found]
    lines = [f"{tool.name:24}{'' if tool.read_only else 'writes  '}{tool.title}" for tool in found]
    session.print_result({"tools": value}, lines, always=True)


@command("token")
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(),
    help="Token file that the server was started with (default: as for the server).",
)
def token(session: Session, token_file: str | None) -> None:
    """Print the bearer token of the HTTP server."""
    from memglot.mcp.token import find_token

    found, where = find_token(token_file)
    session.print_result({"token": found, "where": where}, found, always=True)


for _command in (install, token, tools, uninstall):
    mcp.add_command(_command)
