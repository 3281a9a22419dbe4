"""Sealed texts: what a store keeps of a secret, and what becomes of one that cannot be opened.

Settles that a sealed text opens only at the place that it was sealed for, with a key that is still there. Does not
settle where keys come from (`host.keys`), nor what is sealed. AES-256-GCM and HKDF are `cryptography`'s.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Iterable
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from stanch.secrets.text import Secret, opened
from stanch.values.fault import Fault

KEY_BYTES = 32
_NONCE_BYTES = 12
_FORM = "s1"
_IN_ADDRESS, _AS_SEALED = str.maketrans("+/", "-_"), str.maketrans("-_", "+/")


class Unopened(Fault):
    """A sealed text cannot be opened: its key is gone, or it is not what was sealed for this place."""

    def __init__(self, *, key_gone: bool) -> None:
        self.key_gone = key_gone
        super().__init__("its key is gone" if key_gone else "it is not what was sealed for this place")


class Place(NamedTuple):
    """Where a sealed text stands: a table, the id of a row, and a column. It opens nowhere else."""

    table: str
    row: str
    column: str

    def bound(self) -> bytes:
        """The place as the data that a sealed text is bound to; no two places give the same."""
        return b"".join(len(part).to_bytes(4, "big") + part for part in (text.encode() for text in self))


class Key:
    """A key of the ring. Its `id` tells it from others, and says nothing of it."""

    __slots__ = ("_cipher", "id")

    def __init__(self, material: bytes) -> None:
        """`material` are 32 random bytes. Raises `ValueError`, which does not repeat them."""
        if len(material) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes")
        self.id = _derived(material, b"stanch key id", 6).hex()
        self._cipher = AESGCM(_derived(material, b"stanch sealing", KEY_BYTES))

    def __repr__(self) -> str:
        return f"Key({self.id})"

    def __reduce_ex__(self, protocol: object) -> tuple[()]:
        raise TypeError("a key cannot be pickled")


class KeyRing:
    """The keys that texts were sealed with; the first one seals. It never changes."""

    def __init__(self, keys: Iterable[Key]) -> None:
        """Raises `ValueError` where there is no key."""
        self._keys = {key.id: key for key in keys}
        if not self._keys:
            raise ValueError("a key ring has a key")
        self._first = next(iter(self._keys.values()))

    @property
    def current(self) -> str:
        """The id of the key that seals."""
        return self._first.id

    def seal(self, secret: Secret, place: Place) -> str:
        """The secret as a store may keep it, at this place."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = self._first._cipher.encrypt(nonce, opened(secret).encode("utf-8", "surrogatepass"), place.bound())
        return f"{_FORM}.{self._first.id}.{base64.b64encode(nonce + sealed).decode('ascii')}"

    def open(self, sealed: str, place: Place) -> Secret:
        """The secret that was sealed at this place. Raises `Unopened`."""
        form, _, rest = sealed.partition(".")
        key_id, _, body = rest.partition(".")
        key = self._keys.get(key_id)
        if form == _FORM and key is None:
            raise Unopened(key_gone=True)
        try:
            raw = base64.b64decode(body, validate=True)
            if form != _FORM or key is None or len(raw) <= _NONCE_BYTES:
                raise Unopened(key_gone=False)
            text = key._cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], place.bound())
            return Secret(text.decode("utf-8", "surrogatepass"))
        except (InvalidTag, binascii.Error, UnicodeError, ValueError, TypeError):
            raise Unopened(key_gone=False) from None

    def close(self, words: str, place: Place) -> str:
        """Words that are no secret and nobody is to read, as an address may hold them."""
        return self.seal(Secret(words), place).translate(_IN_ADDRESS)

    def reopen(self, closed: str, place: Place) -> str | None:
        """The words that were closed for this place; None where they were not, or their key is gone."""
        try:
            return opened(self.open(closed.translate(_AS_SEALED), place))
        except Unopened:
            return None

    def is_current(self, sealed: str) -> bool:
        """True where the text was sealed with the key that seals now."""
        return sealed.startswith(f"{_FORM}.{self._first.id}.")


def _derived(material: bytes, purpose: bytes, length: int) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=length, salt=None, info=purpose).derive(material)
