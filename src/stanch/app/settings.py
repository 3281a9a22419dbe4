"""What a server is told before it starts, and the directory in which it keeps what is its own.

Settles where the data directory lies, who may use it, and where its files are. Does not settle which adapters serve
them (`app.wiring`), nor what a policy means.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from stanch.app.sealing_keys import KeyPlace, key_place
from stanch.values.fault import BadInput

WORKBENCH_HOURS = 24
"""How long the workbench of an ended session stays where nobody says otherwise."""
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
OTHERS = stat.S_IRWXG | stat.S_IRWXO
_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_SIDES = ("", "-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class Settings:
    """Where a server's policy, workspace, data and database are. Every path is absolute; `policy` may be a link.

    `workspace` is the directory that relative paths start in where the policy names none, None where that is to be
    found out from the policy's place. `database` is the address of the store, None for the data directory's own. `keys`
    is where the keys are that seal the vault. `content` is where the bytes of stored files are, None for the data
    directory's own. `workbench_hours` is how long the workbench of an ended session stays; 0 for as long as nobody
    empties it.
    """

    data: Path
    policy: Path | None = None
    workspace: Path | None = None
    database: str | None = None
    trust: tuple[str, ...] = ()
    keys: KeyPlace = field(default_factory=KeyPlace)
    content: Path | None = None
    workbench_hours: int = WORKBENCH_HOURS

    @property
    def address(self) -> str:
        """The address of the store."""
        if self.database is not None:
            return self.database
        # WHY: an address is decoded when it is read.
        return "sqlite:///" + str(self.data / "stanch.db").replace("%", "%25")

    @property
    def token_file(self) -> Path:
        """The file with the administrator's token."""
        return self.data / "admin-token"

    @property
    def blobs(self) -> Path:
        """The directory with the bytes of stored content, which all nodes of one database share."""
        return self.content if self.content is not None else self.data / "blobs"

    @property
    def workbenches(self) -> Path:
        """The directory in which code of chats runs, which all nodes of one database share."""
        return (self.content if self.content is not None else self.data) / "workbenches"

    @property
    def lock_file(self) -> Path:
        """The file that one server at a time holds locked."""
        return self.data / "lock"

    def private(self, file: str | None) -> tuple[Path, ...]:
        """The places that belong to the server alone, `file` being the store's, if it is a file."""
        beside = () if file is None else tuple(Path(os.path.realpath(file) + side) for side in _SIDES)
        key = self.keys.file_for(self.data)
        others = (*beside, *(() if key is None else (Path(os.path.realpath(key)),)), self.blobs, self.workbenches)
        return (self.data, *(path for path in others if not path.is_relative_to(self.data)))


def settings_of(
    *,
    policy: Path | None = None,
    workspace: Path | None = None,
    data: Path | None = None,
    database: str | None = None,
    keys: KeyPlace | None = None,
    content: Path | None = None,
    workbench_hours: int = WORKBENCH_HOURS,
) -> Settings:
    """The settings that a person gave, with everything left out filled in. Nothing is made yet.

    Raises `BadInput` for a policy that is not there, a workspace that is no directory, and a data directory that holds
    the workspace.
    """
    if policy is not None and not os.path.lexists(policy):
        raise BadInput(f"there is no policy file {policy}")
    if workspace is not None and not workspace.is_dir():
        raise BadInput(f"the workspace {workspace} is no directory")
    policy = None if policy is None else Path(os.path.abspath(policy))
    workspace = None if workspace is None else Path(os.path.realpath(workspace))
    place = Path(os.path.realpath(workspace or (policy.parent if policy is not None else ".")))
    where = Path(os.path.realpath(data if data is not None else usual_data(place)))
    if "?" in str(where):
        raise BadInput(f"the data directory {where} has a '?' in its path; name another one with --data")
    if place.is_relative_to(where):
        raise BadInput(
            f"the data directory {where} holds the workspace {place}, of which agents could then read nothing; "
            "name another one with --data"
        )
    bytes_at = None if content is None else Path(os.path.realpath(content))
    if bytes_at is not None and place.is_relative_to(bytes_at):
        raise BadInput(f"{bytes_at} holds the workspace {place}; name another directory with --content")
    keys = key_place() if keys is None else keys
    return Settings(where, policy, workspace, database, keys=keys, content=bytes_at, workbench_hours=workbench_hours)


def usual_data(workspace: Path) -> Path:
    """The data directory of a workspace where none is named: below `$XDG_STATE_HOME`, else `~/.local/state`."""
    base = os.environ.get("XDG_STATE_HOME", "")
    # WHY: a relative one has no meaning; the rule for these variables is to ignore it.
    state = Path(base) if os.path.isabs(base) else Path(os.path.expanduser("~/.local/state"))
    if not state.is_absolute():
        raise BadInput("there is no home directory to keep data in; name a directory with --data")
    name = _ODD.sub("-", workspace.name)[:40].strip("-.") or "root"
    digest = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:8]
    return state / "stanch" / f"{name}-{digest}"


def make_private(directory: Path) -> None:
    """Makes the directory, for its owner alone, unless it is there. Raises `BadInput` where others could change it."""
    try:
        for one in (*reversed(directory.parents), directory):
            with suppress(FileExistsError):
                if not one.is_dir():
                    one.mkdir(mode=0o700)
        found = directory.lstat()
        above = [(parent, parent.stat().st_mode) for parent in directory.parents]
    except OSError as error:
        why = (error.strerror or "unknown").lower()
        raise BadInput(f"the data directory {directory} cannot be made: {why}") from None
    if not stat.S_ISDIR(found.st_mode):
        raise BadInput(f"{directory} is no directory, so no data can be kept in it")
    if found.st_uid != os.geteuid():
        raise BadInput(f"the data directory {directory} belongs to another user, who could change what is in it")
    if found.st_mode & OTHERS_WRITE:
        raise BadInput(f"others can write the data directory {directory}; take that from them: chmod go-w {directory}")
    for parent, mode in above:
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise BadInput(f"everybody can write {parent}, and so replace the data directory {directory} below it")


def read_private(path: Path) -> str | None:
    """The text of a file that only its owner may read, None where there is none. Raises `BadInput` for any other."""
    try:
        with open(path, encoding="utf-8", opener=_no_link) as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode) or mode & OTHERS:
                raise BadInput(f"{path} is not for its owner alone; others may have read it: chmod 600 {path}")
            return file.read(4096)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        why = (getattr(error, "strerror", None) or "no text").lower()
        raise BadInput(f"{path} cannot be read: {why}") from None


def write_private(path: Path, text: str) -> None:
    """Writes a new file that only its owner may read: whole, or not at all. Not for two processes at a time."""
    draft = path.with_name(f".{path.name}.new")
    try:
        draft.unlink(missing_ok=True)
        with open(draft, "w", encoding="utf-8", opener=_only_mine) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise BadInput(f"{path} cannot be written: {(error.strerror or 'unknown').lower()}") from None


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _only_mine(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_EXCL | os.O_NOFOLLOW, 0o600)
