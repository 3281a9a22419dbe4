"""Grants: exact files, or directories with all below them, that may be read or written without a question.

Settles the grammar of a grant and what it covers. Does not settle what a grant can answer for (`gate.relax`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from stanch.values.call import Stamp


class BadGrant(ValueError):
    """A grant that is refused; the message says what to write instead."""


def directory_of(text: str) -> str:
    """The path a grant names: a trailing `/`, `/*` or `/**` is read as the directory itself. Raises `BadGrant`."""
    path = text
    for tail in ("/**", "/*"):
        if path.endswith(tail):
            path = path[: -len(tail)] or "/"
            break
    if text in ("*", "**"):
        path = "."
    path = path.rstrip("/") or ("/" if path else "")
    if not path:
        raise BadGrant('an empty grant; write the directory, for instance "." for the working directory itself')
    if "\0" in path:
        raise BadGrant("a grant with a NUL byte")
    if "*" in path or "?" in path:
        literal = path.split("*")[0].split("?")[0].rpartition("/")[0]
        instead = f'"{literal}"' if literal else "the directory or the exact files"
        raise BadGrant(
            f'a grant is a file or a directory with all below it, without wildcards; write {instead}, not "{text}"'
        )
    return path


@dataclass(frozen=True, slots=True)
class Grants:
    """The canonical paths that are granted; each covers itself and all below it, by whole components."""

    roots: tuple[str, ...] = ()
    _below: tuple[str, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_below", tuple(root.rstrip("/") + "/" for root in self.roots))

    def covers(self, stamp: Stamp) -> bool:
        """True where the stamped path is one of the roots or lies below one. A refused path is never covered."""
        if stamp.refusal is not None:
            return False
        if (stamp.key + "/").startswith(self._below):
            return True
        return stamp.folded and (stamp.key.casefold() + "/").startswith(tuple(b.casefold() for b in self._below))
