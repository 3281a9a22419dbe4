"""From a file on disk to an engine: the policy read whole, its workspace found, its own files put out of agents' reach.

Settles where a policy's paths start and which files are protected. Does not settle what the policy means.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from stanch.app.engine import Audit, Engine
from stanch.app.organization import Organization
from stanch.app.organization_opening import file_of, opened
from stanch.app.organization_opening import organization as organized
from stanch.app.organization_reading import Organizations
from stanch.app.programs import program_files
from stanch.host.audit import AuditLog
from stanch.paths.canonical import Canonicaliser
from stanch.paths.protected import Protected
from stanch.policy.building import Anchor, build
from stanch.policy.document import Document, Policy, parse
from stanch.policy.document import Organization as Named
from stanch.policy.organization_rules import Row, rules_of
from stanch.policy.rule import Rule
from stanch.values.fault import BadInput, Problem

POLICY_FILE = "stanch.toml"
STATE_DIRECTORY = ".stanch"
MAX_POLICY_BYTES = 64 << 20
DEFAULT_TEXT = "version = 1\n"
Completed = Callable[[Policy, str, Anchor], Policy]
"""What makes of a file's policy the whole one: given the home directory, and where paths really lie."""

Organize = Callable[[Named, str, str], Organization]
"""What makes of an organization that a policy names one whose rules are fetched: given the workspace and the home
too."""


def open_engine(
    policy: str | os.PathLike[str] | None = None,
    *,
    audit: Audit | str | os.PathLike[str] | None = None,
    organization: Organization | Callable[[], Any] | str | None = None,
    patience: float = 0.0,
) -> Engine:
    """An engine for a policy file, or for the seeded rules over the current directory where none is named.

    `audit` takes every decision; a path stands for an audit file of one line a decision. `organization` is one whose
    rules are asked besides the policy's own: what `organization_opening.organization` takes. Such rules come in a
    thread; `patience` is how many seconds the first try is waited for. Problems in the file raise nothing: what depends
    on them is refused with `policy_invalid`, and they are in `engine.policy.problems`. Raises `BadInput` where the file
    cannot be read at all.
    """
    if isinstance(audit, (str, os.PathLike)):
        audit = AuditLog(audit)
    given = () if organization is None else (organized(organization),)
    path = None if policy is None else Path(policy)
    document = parse(DEFAULT_TEXT, "built-in") if path is None else read_document(path)
    folder = Path.cwd() if path is None else path.absolute().parent
    engine = engine_for(document, folder, path, audit=audit, organize=opened, organizations=given)
    engine.organizations.wait(patience)
    return engine


def read_document(path: Path) -> Document:
    """The document of a policy file. Raises `BadInput` where there is no such file, or it is no text."""
    try:
        with open(path, "rb", opener=without_waiting) as file:
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            raw = file.read(MAX_POLICY_BYTES + 1) if regular else b""
    except OSError as error:
        raise BadInput(f"the policy file {path} cannot be read: {(error.strerror or 'unknown').lower()}") from None
    if not regular:
        raise BadInput(f"the policy file {path} is no regular file")
    if len(raw) > MAX_POLICY_BYTES:
        raise BadInput(f"the policy file {path} is larger than 64 MiB")
    try:
        return parse(raw.decode("utf-8-sig"), path.name)
    except UnicodeDecodeError:
        raise BadInput(f"the policy file {path} is no UTF-8 text") from None


def without_waiting(path: str, flags: int) -> int:
    """Opens a file without waiting for anybody, as a pipe would; for `open`."""
    return os.open(path, flags | os.O_NONBLOCK)


def engine_for(
    document: Document,
    folder: Path,
    file: Path | None,
    *,
    audit: Audit | None = None,
    private: Iterable[Path] = (),
    completed: Completed | None = None,
    organize: Organize | None = None,
    organizations: Sequence[Organization] = (),
) -> Engine:
    """The engine of a document whose relative workspace is read against `folder`.

    `private` are further places, wherever they lie, that no agent's call may read or write: a server's data.
    `completed` adds to the file's policy what is kept elsewhere. `organize` makes the organization that the policy
    names; without it nobody fetches its rules. `organizations` are asked besides. Raises `BadInput` for a workspace
    that cannot be read.
    """
    finder = Canonicaliser()
    home = canonical_home(finder)
    workspace = workspace_of(document, folder, home, finder)
    anchors = Anchors(finder)

    def built() -> Policy:
        policy = build(document, workspace=workspace, home=home, anchor=anchors)
        if not os.path.isdir(workspace):
            lines = enumerate(document.text.splitlines(), 1)
            line = next((at for at, text in lines if text.startswith("workspace")), 1)
            message = f"the workspace {workspace} is no directory that is there"
            missing = Problem(line, "workspace", message, warning=True)
            policy = replace(policy, problems=(*policy.problems, missing))
        return policy if completed is None else completed(policy, home, anchors)

    def rebuilt() -> Policy | None:
        return built() if anchors.moved() else None

    policy = built()
    named = policy.organization
    rules = None if named is None else file_of(named, workspace, home)
    steering = (*(() if rules is None else (rules,)), *program_files(policy.tables.programs, workspace))
    protected = protected_by(workspace, file, finder, private, steering)

    def meant(rows: Sequence[Row]) -> tuple[tuple[Rule, ...], Callable[[], bool]]:
        # WHY by themselves: the policy's are looked at while calls wait, and an organization may have thousands.
        own_anchors = Anchors(finder)
        return rules_of(rows, workspace=workspace, home=home, anchor=own_anchors), own_anchors.moved

    own = None if named is None or organize is None else organize(named, workspace, home)
    asked = Organizations(meant, own, organizations)
    found = Canonicaliser(protected, finder.folding)
    return Engine(policy, found, audit, rebuilt, asked, home=home, anchor=anchors)


class Anchors:
    """Where the literal heads of the policy's patterns really lie, links followed, and whether that is still so."""

    def __init__(self, finder: Canonicaliser) -> None:
        self._finder = finder
        self._real: dict[str, str] = {}

    def __call__(self, path: str) -> str:
        """Where the path really lies now."""
        self._real[path] = real = _real(self._finder, path)
        return real

    def moved(self) -> bool:
        """True where some head lies elsewhere than when it was last asked for."""
        return any(_real(self._finder, path) != real for path, real in list(self._real.items()))


def workspace_of(document: Document, folder: Path, home: str, finder: Canonicaliser) -> str:
    """The canonical workspace: the one named, else the folder itself, which may then be neither `/` nor a home."""
    base = finder.stamp(str(folder), "/")
    if base.refusal is not None:
        raise BadInput(f"the folder {folder} cannot be read: {base.detail}")
    named = document.workspace
    if named is None:
        if base.path in ("/", home, *(entry.pw_dir for entry in pwd.getpwall())):
            raise BadInput(f'the workspace would be {base.path}: name it in a policy with workspace = "{base.path}"')
        return base.path
    stamp = finder.directory(named, base.path)
    if stamp.refusal is not None:
        raise BadInput(f"the workspace '{named}' cannot be read: {stamp.detail}")
    return stamp.path


def canonical_home(finder: Canonicaliser) -> str:
    """The canonical home directory of whoever runs this process."""
    written = os.path.expanduser("~")
    stamp = finder.stamp(written if written.startswith("/") else "/", "/")
    return stamp.path if stamp.refusal is None else "/"


def protected_by(
    workspace: str, file: Path | None, finder: Canonicaliser, private: Iterable[Path] = (), rules: Iterable[Path] = ()
) -> Protected:
    """The table of protected places: the state directory, what is private, and the policy file where it really lies.

    So are further files of `rules`: whoever could write one would say what is allowed.
    Raises `BadInput` for a private place that cannot be found on the disk: nobody could keep calls away from it.
    """
    state = {f"{workspace}/{STATE_DIRECTORY}"}
    for path in private:
        place = finder.stamp(str(path), "/")
        if place.refusal is not None:
            raise BadInput(f"{path} cannot be kept from agents: {place.detail}")
        state |= {place.path, os.path.normpath(path)}
    real = finder.stamp(f"{workspace}/{STATE_DIRECTORY}", "/")
    if real.refusal is None:
        state.add(real.path)
    steering: set[str] = set()
    for path in rules:
        stamp = finder.stamp(str(path), "/")
        steering |= {str(path), *((stamp.path,) if stamp.refusal is None else ())}
    if file is not None:
        for path in (file.absolute(), file.absolute().parent / STATE_DIRECTORY):
            stamp = finder.stamp(str(path), "/")
            if stamp.refusal is None:
                (steering if path.name == file.name else state).add(stamp.path)
    return Protected(tuple(sorted(state)), tuple(sorted(steering)))


def _real(finder: Canonicaliser, path: str) -> str:
    stamp = finder.stamp(path, "/")
    return path if stamp.refusal is not None else stamp.key
