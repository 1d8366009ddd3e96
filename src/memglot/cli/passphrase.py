"""Read a passphrase from a file, the environment or the terminal; never from the command line, which others can see."""

from __future__ import annotations

import os
import sys
from functools import cache, partial

import click

from memglot.errors import UsageError
from memglot.settings import MAX_PASSPHRASE_BYTES, PASSPHRASE_VARIABLE, Passphrase, setting
from memglot.settings import passphrase as passphrase_set

passphrase_option = click.option(
    "--passphrase-file",
    metavar="FILE",
    type=click.Path(),
    help="File with the passphrase for encrypted memories (default: $MEMGLOT_PASSPHRASE, else a prompt).",
)


def secret(file: str | None, *, confirm: bool = False) -> Passphrase:
    """Return the passphrase, or a function that prompts for it: the user is asked once, and only when it is needed."""
    given = passphrase(file, ask=False)
    return given if given is not None else cache(partial(passphrase, None, ask=True, confirm=confirm))


def passphrase(file: str | None, *, ask: bool, confirm: bool = False) -> str | None:
    """Return the passphrase from a file, else from the environment, else from the file in the settings.

    If there is none, `ask` prompts for it on a terminal.
    """
    if file is not None:
        return _read(file)
    if (found := passphrase_set()) is not None:
        return _text(os.fsencode(found), f"${PASSPHRASE_VARIABLE}")
    if configured := setting("passphrase_file"):
        return _read(configured)
    if not ask or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    answer: str = click.prompt("passphrase", hide_input=True, err=True, confirmation_prompt=confirm)
    return answer


def _read(file: str) -> str:
    """Return the content of a file without the newline at its end."""
    try:
        with open(file, "rb") as source:
            found = source.read(MAX_PASSPHRASE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _bad_passphrase(file, (getattr(error, "strerror", None) or str(error)).lower()) from None
    if len(found) > MAX_PASSPHRASE_BYTES:
        raise _bad_passphrase(file, f"it is larger than {MAX_PASSPHRASE_BYTES >> 10} KiB")
    text = _text(found, file)
    # Editors end a file with a newline, which is not part of the passphrase.
    text = text.removesuffix("\r\n") if text.endswith("\r\n") else text.removesuffix("\n")
    if not text:
        raise _bad_passphrase(file, "it is empty")
    return text


def _text(found: bytes, where: str) -> str:
    text = None
    try:
        text = found.decode("utf-8")
    except UnicodeDecodeError:
        # Raise below, outside: the decoder's error contains the bytes, which must never be shown.
        pass
    if text is None:
        raise _bad_passphrase(where, "it is not valid UTF-8")
    return text


def _bad_passphrase(where: str, reason: str) -> UsageError:
    """Return the error for a passphrase that cannot be read; what was found there is never shown."""
    return UsageError(
        f"cannot read a passphrase from `{where}`: {reason}", "it must contain the passphrase and nothing else"
    )
