"""Where a passphrase comes from: a file, the environment, or a person; never the command line, where others see it."""

from __future__ import annotations

import os
import sys
from functools import cache, partial

import click

from memglot.errors import UsageError
from memglot.settings import MAX_PASSPHRASE_BYTES, PASSPHRASE_VARIABLE, Passphrase
from memglot.settings import passphrase as passphrase_set

passphrase_option = click.option(
    "--passphrase-file",
    metavar="FILE",
    type=click.Path(),
    help="The passphrase of what is encrypted; else $MEMGLOT_PASSPHRASE, else you are asked.",
)


def secret(file: str | None, *, confirm: bool = False) -> Passphrase:
    """The passphrase, or what asks a person for one: nobody is asked before it turns out to be needed, or twice."""
    given = passphrase(file, ask=False)
    return given if given is not None else cache(partial(passphrase, None, ask=True, confirm=confirm))


def passphrase(file: str | None, *, ask: bool, confirm: bool = False) -> str | None:
    """The passphrase: from a file, else from the environment, else, with `ask`, from a person at a terminal."""
    if file is not None:
        return _read(file)
    if (found := passphrase_set()) is not None:
        return _text(os.fsencode(found), f"${PASSPHRASE_VARIABLE}")
    if not ask or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    answer: str = click.prompt("passphrase", hide_input=True, err=True, confirmation_prompt=confirm)
    return answer


def _read(file: str) -> str:
    """What a file holds, but for one newline at its end."""
    try:
        with open(file, "rb") as source:
            found = source.read(MAX_PASSPHRASE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _bad_passphrase(file, (getattr(error, "strerror", None) or str(error)).lower()) from None
    if len(found) > MAX_PASSPHRASE_BYTES:
        raise _bad_passphrase(file, f"it holds more than {MAX_PASSPHRASE_BYTES >> 10} KiB")
    text = _text(found, file)
    # Editors end a file with a newline, which nobody takes for a part of the passphrase.
    text = text.removesuffix("\r\n") if text.endswith("\r\n") else text.removesuffix("\n")
    if not text:
        raise _bad_passphrase(file, "it is empty")
    return text


def _text(found: bytes, where: str) -> str:
    text = None
    try:
        text = found.decode("utf-8")
    except UnicodeDecodeError:
        # Raised out here: the error of the decoder carries the bytes, and nothing that is shown may.
        pass
    if text is None:
        raise _bad_passphrase(where, "it is not valid UTF-8")
    return text


def _bad_passphrase(where: str, reason: str) -> UsageError:
    """Return the error for a passphrase that cannot be read; what was found there is never shown."""
    return UsageError(
        f"cannot read a passphrase from `{where}`: {reason}", "it must contain the passphrase and nothing else"
    )
