"""What was withheld from a model, kept for the person whose session it is.

Settles how much is kept, for how long, and which of it nobody has read yet. Does not settle what is withheld
(`app.workbench_running`): what comes here holds no secret of the vault or of the workbench's history any more.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from stanch.values.fault import NotFound, StoreUnreadable

MOST = 20
"""How many are kept; the oldest go."""
_TEXT, _READ = ".txt", ".read"
_PLAIN_ID = re.compile(r"[a-z]{1,16}_[0-9a-f]{8,64}")


class Kept(NamedTuple):
    """An output that is there: the id of its call, when it was kept, and whether somebody has read it."""

    call_id: str
    at: datetime
    is_read: bool


class Outputs:
    """The outputs of one workbench, each under the id of its call. Code of the workbench sees none of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, call_id: str, text: str) -> None:
        """Keeps an output. Raises `StoreUnreadable` where the disk takes no more."""
        place = self._place(call_id)
        draft = place.with_suffix(".draft")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode("utf-8", "replace"))
            # WHY first: who dies in between leaves one that nobody has read.
            place.with_suffix(_READ).unlink(missing_ok=True)
            draft.replace(place)
            self._thin_out()
        except OSError as error:
            raise StoreUnreadable(f"the output cannot be kept: {(error.strerror or 'unknown').lower()}") from None

    def read(self, call_id: str) -> str:
        """The output of a call, which counts as read from then on. Raises `NotFound`, also for one that is gone."""
        text = self.text(call_id)
        self.was_read(call_id)
        return text

    def text(self, call_id: str) -> str:
        """The output of a call, for whoever has yet to see whether it can be shown. Raises `NotFound`."""
        try:
            return self._place(call_id).read_text("utf-8")
        except OSError:
            raise NotFound("withheld output", call_id) from None

    def was_read(self, call_id: str) -> None:
        """Notes that somebody has seen the output of a call."""
        with suppress(OSError):  # WHY: one that cannot be marked stays for longer, and was read all the same
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(self._place(call_id).with_suffix(_READ), flags, 0o600))

    def calls(self) -> tuple[str, ...]:
        """The ids of the calls whose outputs are there, newest first."""
        return tuple(path.stem for path in reversed(self._kept()))

    def listed(self) -> tuple[Kept, ...]:
        """All that are there, newest first."""
        found: list[Kept] = []
        for path in reversed(self._kept()):
            with suppress(OSError):
                at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                found.append(Kept(path.stem, at, os.path.lexists(path.with_suffix(_READ))))
        return tuple(found)

    def unread(self) -> int:
        """How many nobody has read yet. Raises `StoreUnreadable` where that cannot be told."""
        try:
            names = set(os.listdir(self._folder))
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise StoreUnreadable(f"the outputs cannot be read: {(error.strerror or 'unknown').lower()}") from None
        kept = [name.removesuffix(_TEXT) for name in names if name.endswith(_TEXT)]
        return sum(f"{stem}{_READ}" not in names for stem in kept)

    def _kept(self) -> list[Path]:
        times: list[tuple[int, Path]] = []
        for path in self._folder.glob(f"*{_TEXT}"):
            with suppress(OSError):
                times.append((path.stat().st_mtime_ns, path))
        return [path for _, path in sorted(times)]

    def _thin_out(self) -> None:
        for path in self._kept()[:-MOST]:
            path.unlink(missing_ok=True)
            path.with_suffix(_READ).unlink(missing_ok=True)

    def _place(self, call_id: str) -> Path:
        plain = _PLAIN_ID.fullmatch(call_id) is not None
        digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / f"{call_id if plain else digest}{_TEXT}"
