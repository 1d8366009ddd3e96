"""Encryption of bodies with a passphrase, compatible with memoryd: AES-256-GCM with a key from PBKDF2-HMAC-SHA256."""

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
    """Encrypt and decrypt texts with one derived key; each blob is base64 of nonce, ciphertext and tag."""

    def __init__(self, passphrase: str, salt: bytes | None = None, iterations: int = ITERATIONS) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._salt = os.urandom(_SALT) if salt is None else salt
        self._iterations = iterations
        key = pbkdf2_hmac("sha256", passphrase.encode("utf-8"), self._salt, iterations, 32)
        self._cipher = AESGCM(key)

    def encrypt(self, text: str | bytes, bound_to: str | None = None) -> str:
        """Encrypt a text; with `bound_to` it can be decrypted only together with that id."""
        nonce = os.urandom(_NONCE)
        raw = text.encode("utf-8") if isinstance(text, str) else text
        return b64encode(nonce + self._cipher.encrypt(nonce, raw, _bytes(bound_to))).decode("ascii")

    def decrypt(self, blob: Any, bound_to: str | None = None) -> bytes:
        """Decrypt a blob; raise `BadRecord` if another key encrypted it or it was altered."""
        from cryptography.exceptions import InvalidTag

        try:
            raw = b64decode(blob, validate=True) if isinstance(blob, str) else b""
        except (NotBase64, ValueError):
            raw = b""
        if len(raw) < _NONCE + _TAG:
            raise cannot_open("it is not encrypted text")
        try:
            return self._cipher.decrypt(raw[:_NONCE], raw[_NONCE:], _bytes(bound_to))
        except InvalidTag:
            raise cannot_open("the passphrase is wrong, or the text was altered") from None

    def can_decrypt(self, blob: Any, bound_to: str | None = None) -> bool:
        """Return True if this key decrypts a blob."""
        try:
            self.decrypt(blob, bound_to)
        except BadRecord:
            return False
        return True

    def memoryd_block(self) -> dict[str, Any]:
        """Return the `export_metadata.encryption` block that memoryd reads."""
        return {"scheme": SCHEME, "kdf": KDF, "iterations": self._iterations, "salt": b64encode(self._salt).decode()}

    def page_block(self) -> dict[str, Any]:
        """Return the top-level `encryption` block that the page reads, with a blob for checking a passphrase."""
        salt = _PREFIX + b64encode(self._salt).decode()
        check = self.encrypt(_CHECK)
        return {"scheme": SCHEME, "kdf": KDF, "kdf_iters": self._iterations, "salt": salt, "check": check}


def cipher_for(passphrase: str, block: dict[str, Any]) -> Cipher:
    """Return the cipher for a file from either of its encryption blocks; raise `BadRecord`."""
    scheme, kdf = block.get("scheme", SCHEME), block.get("kdf", KDF)
    if scheme != SCHEME or kdf != KDF:
        raise _bad_encryption(f"the scheme `{scheme}` with `{kdf}` is not supported")
    iterations = block.get("iterations", block.get("kdf_iters", ITERATIONS))
    if not isinstance(iterations, int) or isinstance(iterations, bool) or not 1 <= iterations <= _MOST_ITERATIONS:
        raise _bad_encryption(f"the number of iterations must be between 1 and {_MOST_ITERATIONS:,}")
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
    """Return the error for an encryption block that cannot be used."""
    return BadRecord(f"`encryption` cannot be used: {reason}")


def needs_passphrase(items: int | None = None) -> BadRecord:
    """Return the error for encrypted text, or encrypted items, without a passphrase."""
    what = "it is encrypted" if items is None else f"{items:,} items other than memories are encrypted"
    return BadRecord(f"{what}, and no passphrase was given", GIVE_PASSPHRASE)


def cannot_open(reason: str) -> BadRecord:
    """Return the error for encrypted text that cannot be decrypted."""
    return BadRecord(f"the encrypted text cannot be decrypted: {reason}")
