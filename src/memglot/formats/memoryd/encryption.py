"""Sealing: bodies under a passphrase, as memoryd opens them: AES-256-GCM, the key by PBKDF2-HMAC-SHA256."""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from hashlib import pbkdf2_hmac
from typing import Any

from memglot.errors import GIVE_PASSPHRASE, BadRecord

SCHEME, KDF = "passphrase-aesgcm", "pbkdf2-hmac-sha256"
ITERATIONS = 600_000
_MOST_ITERATIONS = 10_000_000
_NONCE, _TAG, _SALT = 12, 16, 16
_CHECK = b"memglot"
_PREFIX = "base64:"


class Cipher:
    """One key, derived once, that seals and opens texts. Each blob is base64 of nonce, ciphertext and tag."""

    def __init__(self, passphrase: str, salt: bytes | None = None, iterations: int = ITERATIONS) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._salt = os.urandom(_SALT) if salt is None else salt
        self._iterations = iterations
        key = pbkdf2_hmac("sha256", passphrase.encode("utf-8"), self._salt, iterations, 32)
        self._cipher = AESGCM(key)

    def encrypt(self, text: str | bytes, bound_to: str | None = None) -> str:
        """Seal a text; with `bound_to` it opens only together with that id."""
        nonce = os.urandom(_NONCE)
        raw = text.encode("utf-8") if isinstance(text, str) else text
        return b64encode(nonce + self._cipher.encrypt(nonce, raw, _bytes(bound_to))).decode("ascii")

    def decrypt(self, blob: Any, bound_to: str | None = None) -> bytes:
        """Open a blob; raises `BadRecord` for one that another key sealed, or that was altered."""
        from cryptography.exceptions import InvalidTag

        try:
            raw = b64decode(blob, validate=True) if isinstance(blob, str) else b""
        except (NotBase64, ValueError):
            raw = b""
        if len(raw) < _NONCE + _TAG:
            raise cannot_open("it is no sealed text")
        try:
            return self._cipher.decrypt(raw[:_NONCE], raw[_NONCE:], _bytes(bound_to))
        except InvalidTag:
            raise cannot_open("the passphrase is another one, or it was altered") from None

    def can_decrypt(self, blob: Any, bound_to: str | None = None) -> bool:
        """Tell whether a blob was sealed under this key."""
        try:
            self.decrypt(blob, bound_to)
        except BadRecord:
            return False
        return True

    def memoryd_block(self) -> dict[str, Any]:
        """The block in `export_metadata.encryption`, as memoryd reads it."""
        return {"scheme": SCHEME, "kdf": KDF, "iterations": self._iterations, "salt": b64encode(self._salt).decode()}

    def page_block(self) -> dict[str, Any]:
        """The block at the top level, as the page shows it, with a blob that tells whether a passphrase is right."""
        salt = _PREFIX + b64encode(self._salt).decode()
        check = self.encrypt(_CHECK)
        return {"scheme": SCHEME, "kdf": KDF, "kdf_iters": self._iterations, "salt": salt, "check": check}


def cipher_for(passphrase: str, block: dict[str, Any]) -> Cipher:
    """What opens the blobs of a file, from either of its encryption blocks; raises `BadRecord`."""
    scheme, kdf = block.get("scheme", SCHEME), block.get("kdf", KDF)
    if scheme != SCHEME or kdf != KDF:
        raise _bad_encryption(f"it is sealed by `{scheme}` with `{kdf}`, which is not known here")
    iterations = block.get("iterations", block.get("kdf_iters", ITERATIONS))
    if not isinstance(iterations, int) or isinstance(iterations, bool) or not 1 <= iterations <= _MOST_ITERATIONS:
        raise _bad_encryption(f"its number of iterations must be 1 to {_MOST_ITERATIONS:,}")
    salt = block.get("salt")
    try:
        raw = b64decode(salt.removeprefix(_PREFIX), validate=True) if isinstance(salt, str) else b""
    except (NotBase64, ValueError):
        raw = b""
    if not raw:
        raise _bad_encryption("it has no salt")
    return Cipher(passphrase, raw, iterations)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogatepass")


def _bad_encryption(reason: str) -> BadRecord:
    """A file whose sealing cannot be understood."""
    return BadRecord(f"`encryption` cannot be used: {reason}")


def needs_passphrase(items: int | None = None) -> BadRecord:
    """Return the error for encrypted text, or encrypted items, without a passphrase."""
    what = "it is encrypted" if items is None else f"{items:,} items other than memories are encrypted"
    return BadRecord(f"{what}, and no passphrase was given", GIVE_PASSPHRASE)


def cannot_open(reason: str) -> BadRecord:
    """Return the error for encrypted text that cannot be decrypted."""
    return BadRecord(f"the encrypted text cannot be decrypted: {reason}")
