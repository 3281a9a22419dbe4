"""What is known of an item, in words and names for people, and what a model would get of it.

Settles the words. Does not settle what is known, nor how an item is found (`content.provenance`). What a gate says is
not written here a second time: a gate that has seen nothing is asked. INVARIANT: nothing here is a value of the vault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType

from stanch.delivery.gates import RegistryGate
from stanch.delivery.operation import Given
from stanch.delivery.source import COMPLETE, EXCERPT, OPAQUE, Kind, Source, View, known
from stanch.explain import brief
from stanch.provenance.registry import Registry
from stanch.provenance.states import Cause, Entry, Exact, Provenance, Unknown, Unrecorded
from stanch.secrets.projection import Projector
from stanch.values.decision import Effect
from stanch.values.reason import Code, Reason

MOST_NAMED = 100
CAUSES: Mapping[Cause, str] = MappingProxyType(
    {
        Cause.KEY_GONE: "the key is gone with which its record was sealed",
        Cause.TAMPERED: "its record cannot be opened: it was changed, or belongs to something else",
        Cause.VERSION_MISMATCH: "it was changed past the store, so that its record is of something that is no more",
        Cause.SCOPE_MISMATCH: "it carries a secret of somebody whose secrets it may not carry",
        Cause.OVER_LIMIT: "it carries more than a record holds",
        Cause.REWRITTEN: "the type of a column changed a text that held a secret",
        Cause.INCOMPLETE: "whoever wrote it could not vouch for every secret that was in use",
        Cause.SOURCE_UNKNOWN: "nobody can say it of something that it was made of",
    }
)
"""Why nobody can say what an item carries, in words."""


class Of(StrEnum):
    """What kind of item is asked about, and how one is named."""

    FILE = "file"  # its path
    RUN = "run"  # its id: all of its values and files together
    RUN_FILE = "run_file"  # the run's id, '/' and the file's name
    DOCUMENT = "document"  # its id
    CHUNK = "chunk"  # its document's id, '#' and its number
    TABLE = "table"  # its id or name: the name and the columns, without the rows
    ROW = "row"  # the table's id or name, '/' and its number


class State(StrEnum):
    """What is known."""

    UNRECORDED = "unrecorded"
    EXACT = "exact"
    UNKNOWN = "unknown"
    BROKEN = "broken"  # it cannot be read, and nobody gets any of it


_STATES = {Unrecorded: State.UNRECORDED, Exact: State.EXACT, Unknown: State.UNKNOWN}


class SecretNamed(Given):
    """A secret that an item carries: its name, and whose it is."""

    name: str
    scope: str


class ViewTold(Given):
    """What a model would get of an item that leaves in this view. `given`: it gets something of it."""

    view: str
    given: bool
    says: str


class ItemKnown(Given):
    """What is known of one item. `version` is its number, where it has one. `why` says in words what `cause` means.

    `count` counts its secrets, of which `secrets` names the first. `views` say what a model would get.
    """

    kind: Of
    id: str
    version: int | None = None
    state: State
    cause: str | None = None
    why: str = ""
    count: int = 0
    secrets: tuple[SecretNamed, ...] = ()
    views: tuple[ViewTold, ...] = ()


def item_known(kind: Of, item: str, provenance: Provenance, *, version: int | None, whole: bool) -> ItemKnown:
    """What is told of an item. `whole`: all of a part of it is replaced that carries a secret, as of a row's cell."""
    cause = provenance.cause if isinstance(provenance, Unknown) else None
    secrets = _named(provenance.entries) if isinstance(provenance, Exact) else ()
    return ItemKnown(
        kind=kind,
        id=item,
        version=version,
        state=_STATES[type(provenance)],
        cause=None if cause is None else cause.value,
        why="" if cause is None else CAUSES[cause],
        count=len(secrets),
        secrets=secrets[:MOST_NAMED],
        views=tuple(_views(kind, item, provenance, whole=whole)),
    )


def item_broken(kind: Of, item: str, problem: str) -> ItemKnown:
    """What is told of an item that cannot be read."""
    return ItemKnown(kind=kind, id=item, state=State.BROKEN, why=problem)


def _named(entries: frozenset[Entry]) -> tuple[SecretNamed, ...]:
    pairs = sorted({(entry.name, str(entry.scope)) for entry in entries})
    return tuple(SecretNamed(name=name, scope=scope) for name, scope in pairs)


def _views(kind: Of, item: str, provenance: Provenance, *, whole: bool) -> Iterator[ViewTold]:
    """What a gate that has seen nothing yet says to the item in each of the views that need no value of their own."""
    names = [secret.name for secret in _named(provenance.entries)] if isinstance(provenance, Exact) else []
    listed = ", ".join(dict.fromkeys(names[:MOST_NAMED]))
    for word, view in (("complete", COMPLETE), ("opaque", OPAQUE), ("excerpt", EXCERPT)):
        refused = _refused(kind, item, provenance, view, whole=whole)
        if refused is None:
            yield ViewTold(view=word, given=True, says=f"redacted: {listed}" if listed else "as it is")
        else:
            yield ViewTold(view=word, given=False, says=f"withheld: {_brief(refused, provenance)}")


def _refused(kind: Of, item: str, provenance: Provenance, view: View, *, whole: bool) -> Reason | None:
    gate = RegistryGate(Registry(), lambda _: Projector({}))
    return gate.admit(Source(Kind(kind.value), item, known(provenance), view, whole=whole), provenance)


def _brief(refused: Reason, provenance: Provenance) -> str:
    """Why, without naming the item once more."""
    names = ", ".join(secret.name for secret in _named(provenance.entries)) if isinstance(provenance, Exact) else ""
    match refused.code:
        case Code.CONTENT_UNKNOWN if isinstance(provenance, Unknown):
            return f"nobody can say which secrets it carries: {CAUSES[provenance.cause]}"
        case Code.CONTENT_OPAQUE:
            return f"secrets cannot be taken out of bytes ({names})"
        case Code.CONTENT_CUT:
            return f"a part of a secret may stand where it was cut ({names})"
        case Code.SECRET_TOO_SHORT:
            return f"one of its secrets is too short to be found in a text ({names})"
        case _:
            return brief(refused, Effect.DENY)
