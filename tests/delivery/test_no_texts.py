"""What is known of bytes that are no text: nobody can look into them, so they carry whatever their writer was given."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator

import pytest

from stanch.app.content_writing import Acting, Declared, Said, Unsaid
from stanch.content.access import Pieces
from stanch.delivery.gates import RegistryGate
from stanch.provenance.registry import Registry
from stanch.provenance.states import CLEAN, UNRECORDED, WORKSPACE, Entry, Exact
from stanch.secrets.projection import Projector
from stanch.secrets.text import Secret
from tests.delivery.stage import NAME, Stage, State

VALUE = "packed-away-4711-0815"
ENTRY = Entry("K", WORKSPACE, Secret(VALUE))
OTHER = Entry("L", WORKSPACE, Secret("another-value-0815-4711"))
HIDDEN = [
    zlib.compress(VALUE.encode() * 3),
    b"\x00\x01" + b"plain enough",
    "größer".encode("utf-16"),
    b"%PDF-1.7\nnothing but letters",
    b"ends within a letter \xc3",
]
TEXTS = ["nothing of that", "größer ✓ 😀", "", "{\\ rtf no"]


def blocks(data: bytes, size: int) -> Iterator[bytes]:
    yield from (data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize("data", HIDDEN)
def test_bytes_that_are_no_text_carry_what_was_resolved(data: bytes) -> None:
    said = Said(Declared(("K",)), (ENTRY, OTHER)).over()
    assert said(data) == Exact(frozenset({ENTRY}))
    assert said(Pieces(blocks(data, 1))) == Exact(frozenset({ENTRY}))
    assert Unsaid().over((Exact(frozenset({ENTRY})),))(data) == Exact(frozenset({ENTRY}))
    assert Unsaid().over()(data) == UNRECORDED


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_carries_what_occurs_in_it(text: str) -> None:
    said = Said(Declared(("K",)), (ENTRY, OTHER)).over()
    assert said(text.encode()) == CLEAN
    assert said(Pieces(blocks(text.encode(), 1))) == CLEAN
    assert said(f"{text} {VALUE}".encode()) == Exact(frozenset({ENTRY}))


def test_a_models_own_picture_carries_what_it_was_given_and_no_more() -> None:
    registry = Registry()
    gate = RegistryGate(registry, lambda entries: Projector({one.name: one.secret for one in entries}))
    assert Acting(gate, (ENTRY, OTHER)).over()(HIDDEN[0]) == CLEAN
    assert registry.activate(ENTRY) is None
    assert Acting(gate, (ENTRY, OTHER)).over()(HIDDEN[0]) == Exact(frozenset({ENTRY}))


def test_an_archive_of_a_workflow_that_used_a_secret_is_kept_from_a_model(stage: Stage) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", "nothing to be seen " * 50)
    stage.write(State.ENTRIES, "PUT", "/api/files/content/out/a.zip", content=packed.getvalue())
    reply = stage.ask("GET", "/api/files/content/out/a.zip")
    assert reply.status_code == 403
    assert reply.json()["code"] == "content_opaque"
    assert NAME in reply.json()["detail"]
