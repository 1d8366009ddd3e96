"""`mcp`: serves agents, shows the tools and the token, and connects clients."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import click

from memglot.cli.mcp_install import install, uninstall
from memglot.cli.session import Session, command, shared_options

_PORT = 8788


@click.group("mcp", invoke_without_command=True)
@shared_options
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
    help="How clients reach it.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"For HTTP, on 127.0.0.1; 0 is any free port.  [default: {_PORT}]",
)
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(),
    help="For HTTP; else $MEMGLOT_MCP_TOKEN, else one is made and kept.",
)
@click.option(
    "--root",
    "roots",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Files only below this folder; may be given several times. Else the client's folders, else the current one.",
)
@click.option("--read-only", is_flag=True, help="Only the tools that change nothing.")
@click.option("--allow-sensitive", is_flag=True, help="Sensitive scopes too.")
@click.option(
    "--passphrase-file",
    metavar="FILE",
    type=click.Path(),
    help="What seals sensitive scopes in memories.json; else $MEMGLOT_PASSPHRASE.",
)
@click.pass_context
def mcp(ctx: click.Context, /, roots: tuple[Path, ...], **options: Any) -> None:
    """Serve agents over the Model Context Protocol; or connect a client with `install`.

    Without a subcommand this is the server that clients start: it speaks on standard input and output until they go.
    With `--transport http` it serves all clients on this machine that show the token.
    """  # fmt: skip
    if ctx.invoked_subcommand is None:
        _serve(ctx.ensure_object(Session), roots, **options)
        return
    for name in ("roots", *options):
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"put options of `{ctx.invoked_subcommand}` behind its name")


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
        raise click.UsageError("`--port` and `--token-file` are for `--transport http`")
    _check_store(session.store)
    config = ServerConfig(
        store=session.store,
        roots=check_roots(roots),
        read_only=read_only,
        allow_sensitive=allow_sensitive,
        # Nobody can be asked for one: the terminal belongs to the client.
        passphrase=passphrase(passphrase_file, ask=False),
    )
    # The SDK makes thousands of classes: collecting cycles meanwhile takes a fifth of the start, and finds nothing.
    gc.disable()
    if transport == "http":
        from memglot.mcp import http
        from memglot.mcp.token import find_token

        token, where = find_token(token_file)
        _settle()
        http.serve(
            config,
            _PORT if port is None else port,
            token,
            lambda url: session.print_note(f"serving MCP at {url}; the bearer token is in {where}"),
        )
    else:
        from memglot.mcp import stdio

        _settle()
        stdio.serve(config)


def _check_store(url: str | None) -> None:
    """Refuse a store that this version cannot have. One that is damaged or locked may be mended: each call tells."""
    from memglot.errors import NotYet, StoreError
    from memglot.memory import Memory

    try:
        Memory.open_for_dry_run(url).close()
    except NotYet:
        raise
    except StoreError:
        return


def _settle() -> None:
    """Collect again from here on, but not among what was imported."""
    gc.freeze()
    gc.enable()


@command("tools")
def tools(session: Session) -> None:
    """List the tools that agents get."""
    from memglot.mcp.tools import all_tools

    found = all_tools().values()
    value = [{"name": tool.name, "description": tool.description, "reads": tool.read_only} for tool in found]
    lines = [f"{tool.name:24}{'' if tool.read_only else 'writes  '}{tool.title}" for tool in found]
    session.print_result({"tools": value}, lines, always=True)


@command("token")
@click.option("--token-file", metavar="FILE", type=click.Path(), help="The file that the server was given.")
def token(session: Session, token_file: str | None) -> None:
    """Print the bearer token of the server over HTTP."""
    from memglot.mcp.token import find_token

    found, where = find_token(token_file)
    session.print_result({"token": found, "where": where}, found, always=True)


for _command in (install, token, tools, uninstall):
    mcp.add_command(_command)
