"""Fetching an organization's rules once: over HTTP, from a file, or from the program that Stanch runs in.

Settles how much and how long is taken of each, and by which closed words it fails. Does not settle when that happens
(`app.organization`) nor what the text means (`policy.organization_rules`).
INVARIANT: nothing that a server says is repeated, but the number of its status.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from ssl import SSLContext
from typing import Any, NamedTuple

from stanch.policy.organization import Trouble, Unfetched
from stanch.policy.organization_rules import MOST_BYTES, Row, Unreadable, checked, rows_of

SECONDS = 10.0
"""How long one try may take, from the name of the server to the last byte."""
FIRST_SECONDS = SECONDS + 2.0
"""How long the first try is waited for by whoever has no use for an answer that comes before it."""
_YOUNG_SECONDS = 2.0
_MOMENT = 0.03


class Fetched(NamedTuple):
    """The rules of one try. `etag` is by what the same source is asked whether they have changed."""

    rows: tuple[Row, ...]
    etag: str = ""


Fetch = Callable[[str], Fetched | None]
"""Given the `etag` of what is known, or nothing: the rules, None where they are the same still. Raises `Unfetched`."""


def read(raw: bytes) -> tuple[Row, ...]:
    """The rules in a text. Raises `Unfetched`."""
    try:
        return rows_of(raw)
    except Unreadable as why:
        raise _unreadable(why) from None


def from_file(path: Path) -> Fetch:
    """Fetches from a file, which is read again only where it changed."""

    def fetch(etag: str) -> Fetched | None:
        try:
            signs, young = _signs(os.stat(path))
            if etag and signs == etag and not young:
                return None
            if young:
                threading.Event().wait(_MOMENT)  # whoever is writing it may be half through
            with open(path, "rb", opener=_without_waiting) as file:
                found = os.fstat(file.fileno())
                raw = file.read(MOST_BYTES + 1) if stat.S_ISREG(found.st_mode) else None
            after, _ = _signs(os.stat(path))
        except FileNotFoundError:
            raise Unfetched(Trouble.NO_FILE) from None
        except (OSError, ValueError):
            raise Unfetched(Trouble.FILE_UNREADABLE) from None
        if raw is None:
            raise Unfetched(Trouble.FILE_UNREADABLE)
        if after != signs:
            raise Unfetched(Trouble.FILE_UNREADABLE, "(it is being written)")
        if len(raw) > MOST_BYTES:
            raise Unfetched(Trouble.TOO_LARGE)
        return Fetched(read(raw), signs)

    return fetch


def from_program(provide: Callable[[], Any]) -> Fetch:
    """Fetches from the embedding program: a text of rules, a list of rules, or a table with `rules`."""

    def fetch(etag: str) -> Fetched:
        del etag
        try:
            given = provide()
        except Exception:
            raise Unfetched(Trouble.THREW) from None
        if isinstance(given, str):
            given = given.encode("utf-8", "surrogatepass")
        if isinstance(given, bytes):
            return Fetched(read(given))
        value = [dict(row) if isinstance(row, Mapping) else row for row in given] if _is_list(given) else given
        try:
            return Fetched(checked(value))
        except Unreadable as why:
            raise _unreadable(why) from None

    return fetch


def from_address(
    url: str,
    *,
    token_env: str | None = None,
    environment: Mapping[str, str] = os.environ,
    verify: SSLContext | None = None,
    seconds: float = SECONDS,
) -> Fetch:
    """Fetches over HTTP. `verify` says whose certificates count; None: those of the machine."""

    def fetch(etag: str) -> Fetched | None:
        token = None
        if token_env is not None:
            token = environment.get(token_env, "")
            if not token or not token.isascii() or not token.isprintable():
                raise Unfetched(Trouble.NO_TOKEN, f"in {token_env}")
        try:
            from stanch.app.organization_http import answer_of
        except ModuleNotFoundError:
            raise Unfetched(Trouble.NOT_INSTALLED) from None
        answer = answer_of(url, etag, token, verify, seconds)
        return None if answer is None else Fetched(read(answer.raw), answer.etag)

    return fetch


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _unreadable(why: Unreadable) -> Unfetched:
    return Unfetched(Trouble.UNREADABLE, f"(rule {why.rule})" if why.rule else "")


def _signs(found: os.stat_result) -> tuple[str, bool]:
    """By what a file is told from any other, and whether it changed so lately that this may not be told."""
    signs = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev)
    return "-".join(map(str, signs)), time.time() - max(signs[:2]) / 1e9 < _YOUNG_SECONDS
