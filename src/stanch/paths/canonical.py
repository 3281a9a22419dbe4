"""One function makes a path canonical, and everything that judges or opens a path uses it.

Settles which file a written path means. Does not settle whether it may be touched. The kernel is asked, not
`os.path.realpath`, which gives up silently where it matters (a path that grows past PATH_MAX through links, a folder it
may not search, a loop). Resolutions are never cached: a directory may be swapped between two calls.
"""

from __future__ import annotations

import errno
import os
import stat
import unicodedata

from stanch.paths import kernel
from stanch.paths.folding import FoldingMounts
from stanch.paths.protected import Protected
from stanch.paths.resolving import MAX_PATH_BYTES, Unreadable, resolve
from stanch.values.call import Stamp
from stanch.values.reason import Code

_NO_LINKS = kernel.how(kernel.O_PATH, kernel.NO_SYMLINKS)
_NO_MAGIC = kernel.how(kernel.O_PATH, kernel.NO_MAGICLINKS)
_NO_LINKS_FOLDER = kernel.how(kernel.O_PATH | os.O_DIRECTORY, kernel.NO_SYMLINKS)
_LEAF = kernel.how(kernel.O_PATH | os.O_NOFOLLOW, 0)
_NEW = tuple.__new__  # WHY: half the cost of calling the named tuple, in the busiest place there is
_DESCRIPTOR = "/proc/self/fd/%d"


def expand_home(path: str) -> str:
    """The path with a leading `~` or `~user` put in full, where such a user is known."""
    return os.path.expanduser(path) if path.startswith("~") else path


class Canonicaliser:
    """Takes stamps: the canonical reading of a written path, with the table of protected places checked on it."""

    def __init__(
        self,
        protected: Protected | None = None,
        folding: FoldingMounts | None = None,
        *,
        use_kernel: bool | None = None,
    ) -> None:
        self.protected = protected or Protected()
        self.folding = folding if folding is not None else FoldingMounts()
        self.use_kernel = kernel.available() if use_kernel is None else use_kernel
        self._guarded = self.protected.roots
        self._folds = self.folding.folds if self.folding.roots else None

    def stamp(self, requested: str, base: str, *, write: bool = False) -> Stamp:
        """The stamp of a path read against the canonical directory `base`; never raises for a bad path.

        An empty path means `base` itself: callers refuse it where an empty path has no meaning. A refused path has the
        code `path_unreadable` (a NUL byte, an undecodable name, over 4,096 bytes, a loop, a part that may not be
        searched, a link that means something else to each process) or `path_protected`.
        """
        path = requested if requested.startswith("/") else f"{base}/{requested}" if requested else base
        try:
            raw = path.encode()
        except UnicodeEncodeError:
            return _unreadable(requested, "a name that is no valid text")
        if len(raw) > MAX_PATH_BYTES or b"\0" in raw:
            return _unreadable(requested, "a NUL byte" if b"\0" in raw else "longer than 4,096 bytes")
        links = 0
        fd = kernel.openat2(raw, _NO_LINKS) if self.use_kernel else -1
        try:
            if fd >= 0:  # WHY first: almost every path exists and meets no link, and then it is its own canonical form
                if write:
                    links = _count(fd)
                os.close(fd)
                tidy = "//" not in path and "/." not in path and path[-1] != "/"
                canonical = path if tidy else _squeeze(path)
                if canonical.startswith("/proc/"):
                    self._ours(canonical)
            else:
                canonical, links = self._resolve(path, raw, write)
        except Unreadable as why:
            return _unreadable(requested, str(why))
        folded = self._folds is not None and self._folds(canonical)
        refusal = None
        if write or folded or canonical.startswith(self._guarded):
            refusal = self._protection(path, canonical, links, write=write, folded=folded)
        key = canonical if canonical.isascii() else unicodedata.normalize("NFC", canonical)
        return _NEW(Stamp, (requested, canonical, key, folded, links, refusal, ""))

    def _protection(self, path: str, canonical: str, links: int, *, write: bool, folded: bool) -> Code | None:
        """Why it is out of reach: where it really lies, as it was written, in any letter case, or by another name."""
        for reading in (canonical, os.path.normpath(path)):
            refusal = self.protected.refusal(reading, write=write)
            if refusal is None and folded:
                refusal = self.protected.refusal(reading.casefold(), write=write, folded=True)
            if refusal is not None:
                return refusal
        if write and links > 1 and any(_same_file(canonical, root) for root in self.protected.roots):
            return Code.PATH_PROTECTED
        return None

    def directory(self, requested: str, base: str) -> Stamp:
        """The stamp of a directory named in a policy or a context: `~` is expanded, an empty path is `base`."""
        return self.stamp(expand_home(requested), base)

    def _resolve(self, path: str, raw: bytes, write: bool) -> tuple[str, int]:
        """The canonical path and, for a write, the number of names of the file; for a path that meets a link, is not
        there, or cannot be asked for at once.
        """
        if not self.use_kernel:
            return self._by_steps(raw, write)
        code = kernel.last_errno()
        if code == errno.ELOOP:
            fd = kernel.openat2(raw, _NO_MAGIC)
            if fd >= 0:
                try:
                    named = os.readlink((_DESCRIPTOR % fd).encode())
                    links = _count(fd) if write else 0
                except OSError:
                    named, links = b"", 0
                finally:
                    os.close(fd)
                if named.startswith(b"/") and not named.endswith(b" (deleted)"):
                    return self._ours(_text(named)), links
            elif kernel.last_errno() == errno.ELOOP:
                raise Unreadable("a loop of links, or a link that means something else to each process")
        elif code == errno.ENOENT and self._only_leaf_missing(path):
            return self._ours(_squeeze(path)), 0
        elif code not in (errno.ENOENT, errno.ENOSYS, errno.EPERM, errno.EAGAIN):
            raise Unreadable(os.strerror(code).lower())
        return self._by_steps(raw, write)

    def _only_leaf_missing(self, path: str) -> bool:
        """True where the folder exists and is reached without a link, and holds nothing of the last part's name.

        WHY: most writes make a new file in a folder that is there; the walk by steps costs ten times as much.
        """
        folder, _, leaf = path.rpartition("/")
        if leaf in ("", ".", ".."):
            return False
        fd = kernel.openat2(folder.encode() or b"/", _NO_LINKS_FOLDER)
        if fd < 0:
            return False
        found = kernel.openat2(leaf.encode(), _LEAF, fd)
        missing = found < 0 and kernel.last_errno() == errno.ENOENT
        for opened in (fd, found):
            if opened >= 0:
                os.close(opened)
        return missing

    def _by_steps(self, raw: bytes, write: bool) -> tuple[str, int]:
        resolved = resolve(raw)
        if len(resolved) > MAX_PATH_BYTES:
            raise Unreadable("longer than 4,096 bytes")
        path = self._ours(_text(resolved))
        links = 0
        if write:
            try:
                found = os.lstat(path)
            except OSError:
                return path, 0
            links = found.st_nlink if stat.S_ISREG(found.st_mode) else 0
        return path, links

    def _ours(self, path: str) -> str:
        """The same path; refused where it names this very process, since another process would read it otherwise."""
        own = f"/proc/{os.getpid()}"
        if path == own or path.startswith(own + "/"):
            raise Unreadable("a path that means something else to each process")
        return path


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samestat(os.lstat(one), os.lstat(other))
    except OSError:
        return False


def _count(fd: int) -> int:
    found = os.fstat(fd)
    return found.st_nlink if stat.S_ISREG(found.st_mode) else 0


def _squeeze(path: str) -> str:
    """The path without empty and dot parts. Only for a path that the kernel resolved without meeting a link."""
    squeezed = os.path.normpath(path)
    return squeezed[1:] if squeezed.startswith("//") else squeezed


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Unreadable("a name that is no valid text") from None


def _unreadable(requested: str, why: str) -> Stamp:
    return Stamp(requested, refusal=Code.PATH_UNREADABLE, detail=why)
