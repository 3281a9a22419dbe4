"""Knowledge without a server: a store, bytes on disk, a key, and the access of whoever asks.

world.add("some text", title="A", by=world.workflow(complete=True))
world.model().delivery                                      what a model's call was given
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from stanch.app.content_writing import Acting, Declared, Said, Unsaid
from stanch.content.access import Access, Writing
from stanch.content.knowledge_writing import AddDocument, add_document
from stanch.delivery.admit import Delivery
from stanch.delivery.gates import RegistryGate
from stanch.provenance.registry import Registry
from stanch.provenance.seals import Seals
from stanch.provenance.states import WORKSPACE, Entry, Scope
from stanch.secrets.projection import Projector
from stanch.secrets.sealing import Key, KeyRing
from stanch.secrets.text import Secret
from stanch.storage.blobs import Blobs
from stanch.storage.content_store import ContentStore
from stanch.storage.store import Store
from stanch.values.identity import Principal, PrincipalKind
from stanch.values.records import Actor
from tests.stores.places import Place

NAME, LABEL = "PAY_KEY", "{{PAY_KEY}}"
VALUE = "pk-live-8c1f27a0b94d4e63/Q+x7Zt9"


class Knowledge:
    """A store of knowledge. `entries` is what its vault holds."""

    def __init__(self, place: Place, root: Path) -> None:
        self.place = place
        self.store = Store.open(place.url)
        self.store.migrate()
        self.stores = ContentStore(self.store)
        self.blobs = Blobs(root / "blobs")
        ring = KeyRing([Key(os.urandom(32))])
        self.seals = Seals(lambda: ring)
        self.entries: tuple[Entry, ...] = (Entry(NAME, WORKSPACE, Secret(VALUE)),)

    def access(self, person: str | None = "ada", writing: Writing | None = None, **more: Any) -> Access:
        """The access of a person, or of a program that acts for one."""
        principal = Principal(PrincipalKind.USER, person or "nobody")
        given = Access(
            delivery=Delivery(principal),
            stores=self.stores,
            blobs=self.blobs,
            seals=self.seals,
            writing=writing or Unsaid(),
            by=Actor(person or "nobody", "test"),
            root="/repo",
            person=person,
        )
        return replace(given, **more)

    def workflow(self, *names: str, complete: bool = True, person: str | None = "ada") -> Access:
        """The access of one that says which secrets were resolved while it made what it writes."""
        return self.access(person, Said(Declared(names or (NAME,), complete), self.entries))

    def model(self, person: str = "ada") -> Access:
        """The access of a chat's model, which acts for a person."""
        gate = RegistryGate(Registry(), self._projector)
        given = self.access(person, Acting(gate, self.entries))
        return replace(
            given, delivery=Delivery(Principal(PrincipalKind.DELEGATED, person, "copilot"), gate, lambda _: None)
        )

    def add(self, text: str, title: str = "A title", by: Access | None = None, **more: Any) -> str:
        """The id of a new document."""
        return add_document(by or self.access(), AddDocument(title=title, text=text, **more)).id

    def user_secret(self, name: str, value: str, user: str) -> None:
        """Puts a secret of one user into the vault."""
        self.entries = (*self.entries, Entry(name, Scope(user), Secret(value)))

    def _projector(self, entries: Any) -> Projector:
        projector = Projector({one.name: one.secret for one in self.entries})
        for entry in entries:
            if entry not in self.entries:
                projector = projector.adding(entry.name, entry.secret)
        return projector


@contextmanager
def knowledge(place: Place, root: Path) -> Iterator[Knowledge]:
    """A store of knowledge, for as long as the block lasts."""
    world = Knowledge(place, root)
    try:
        yield world
    finally:
        world.store.close()
