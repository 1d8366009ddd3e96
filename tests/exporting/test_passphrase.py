"""Passphrases: read exactly, asked for only when needed, and never shown."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot import MemglotError
from memglot.cli.passphrase import passphrase, secret
from memglot.errors import WrongPassphrase
from memglot.exporting import sync
from memglot.settings import MAX_PASSPHRASE_BYTES

SECRET = "hunter2 correct horse"


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMGLOT_PASSPHRASE", raising=False)


@given(st.text(), st.sampled_from(["", "\n", "\r\n"]))
def test_one_newline_at_the_end_is_dropped_and_nothing_else(text: str, end: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "key"
        path.write_bytes(f"{text}.{end}".encode())
        assert passphrase(str(path), ask=False) == f"{text}."


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (b"pw\n\n", "pw\n"),
        (b"pw\r\n\r\n", "pw\r\n"),
        (b"pw\r", "pw\r"),
        (b"\xef\xbb\xbfpw\n", "\ufeffpw"),
        (b" ", " "),
        (b"\r\r\n", "\r"),
        (b"x" * MAX_PASSPHRASE_BYTES, "x" * MAX_PASSPHRASE_BYTES),
    ],
)
def test_a_file_is_read_exactly(tmp_path: Path, found: bytes, expected: str) -> None:
    (tmp_path / "key").write_bytes(found)
    assert passphrase(str(tmp_path / "key"), ask=False) == expected


@pytest.mark.parametrize("found", [b"", b"\n", b"\r\n", SECRET.encode() + b"\xff", SECRET.encode() * 4_000], ids=str)
def test_an_invalid_passphrase_is_refused_without_showing_it(tmp_path: Path, found: bytes) -> None:
    (tmp_path / "key").write_bytes(found)
    with pytest.raises(MemglotError) as caught:
        passphrase(str(tmp_path / "key"), ask=False)
    assert (caught.value.code, caught.value.exit_code) == ("usage", 2)
    _is_silent(caught.value)


def _is_silent(error: BaseException | None) -> None:
    while error is not None:
        shown = "".join(traceback.format_exception_only(error)) + repr(vars(error)) + repr(error.args)
        assert "hunter2" not in shown
        error = error.__cause__ or error.__context__


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere", tmp_path / "a\0b"):
        with pytest.raises(MemglotError, match="cannot read a passphrase"):
            passphrase(str(path), ask=True)


def test_a_file_overrides_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("of the file")
    monkeypatch.setenv("MEMGLOT_PASSPHRASE", "of the environment\n")
    assert passphrase(str(tmp_path / "key"), ask=False) == "of the file"
    assert passphrase(None, ask=False) == "of the environment\n"
    monkeypatch.setenv("MEMGLOT_PASSPHRASE", "")
    assert passphrase(None, ask=True) is None


def test_errors_show_what_to_do() -> None:
    missing, wrong = sync._no_passphrase(["a.json"], hidden=False), WrongPassphrase("a.json")
    assert (missing.code, missing.exit_code) == ("no_passphrase", 3)
    assert (wrong.code, wrong.exit_code) == ("wrong_passphrase", 2)
    for error in (missing, wrong):
        assert "a.json" in str(error) and "--passphrase-file" in (error.hint or "")


def test_without_a_terminal_nobody_is_asked() -> None:
    ask = secret(None)
    assert callable(ask) and ask() is None


_ASKS = """
from memglot.cli.passphrase import {name}

def twice(ask):
    assert ask() == ask()
    return ask()

print(len({call}))
"""


@pytest.mark.parametrize(
    ("call", "answers"),
    [
        ("twice(secret(None))", [SECRET]),
        ("passphrase(None, ask=True, confirm=True)", [SECRET, SECRET]),
        ("passphrase(None, ask=True, confirm=True)", [SECRET, "something else", SECRET, SECRET]),
    ],
)
def test_a_person_is_asked_on_the_error_stream_and_nothing_is_echoed(call: str, answers: list[str]) -> None:
    ours, theirs = pty.openpty()
    code = _ASKS.format(name="passphrase, secret", call=call)
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, start_new_session=True
    )
    os.close(theirs)
    shown = b""
    for answer in answers:
        shown += _until(ours, b"passphrase: ", b"confirmation: ")
        os.write(ours, answer.encode() + b"\n")
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert out.strip() == str(len(SECRET)).encode()
    assert b"passphrase: " in shown and b"hunter2" not in shown


def _until(terminal: int, *ends: bytes) -> bytes:
    """Return the output up to a prompt; input that is typed before it would be discarded."""
    shown = b""
    while not shown.endswith(ends):
        shown += os.read(terminal, 1)
    return shown
