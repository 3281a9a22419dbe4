"""The console's pages of receipts: what a session's models got, who ever saw a secret or an item, and the whole log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stanch.surfaces.console.receipts import MOST_ROWS
from tests.console import content_world as made
from tests.console.content_world import EXACT, NAME, UNKNOWN, VALUE
from tests.console.visitors import Visitor
from tests.http.served import BY, COPILOT, World, served

MODEL = "cloud/curious"


POLICY = """
version = 1
[models]
default_tier = "trusted"
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A server whose models may read everything, with files in each state."""
    with served(World(tmp_path, POLICY)) as running:
        yield filled(running)


def filled(world: World) -> World:
    """The world with a vault, and with files in each state."""
    made.keep(world)
    made.file(world, "deploy/production.env", f"key={VALUE}\n", EXACT)
    made.file(world, "deploy/staging.env", f"key={VALUE}\n", UNKNOWN)
    made.file(world, "README.md", f"the shop {VALUE}\n")
    return world


def chat(world: World) -> str:
    """A chat whose model read the three files; its session."""
    principal = {"kind": "delegated", "id": "ada", "service_id": "copilot"}
    session = world.session(principal=principal, model=MODEL)
    for path in ("deploy/production.env", "deploy/staging.env", "README.md"):
        reply = ask(world, session, f"/api/files/text/{path}")
        assert reply.status_code == (403 if "staging" in path else 200), reply.text
    return session


def ask(world: World, session: str, path: str) -> Any:
    return world.client(COPILOT).get(path, headers={"Stanch-Session": session})


def test_a_sessions_receipts_say_what_it_got_beside_what_it_did_not(world: World, visitor: Visitor) -> None:
    session = chat(world)
    page = visitor.get(f"/console/sessions/{session}")
    assert f"/console/sessions/{session}/receipts" in page
    page = visitor.get(f"/console/sessions/{session}/receipts")
    assert VALUE not in page
    for words in ("files_read", MODEL, "content_unknown", "not recorded", NAME, "production.env", "✕ refused"):
        assert words in page, words


def test_who_saw_a_secret_is_answered_with_its_forms(world: World, visitor: Visitor) -> None:
    session = chat(world)
    page = visitor.get(f"/console/audit/who-saw?secret={NAME}")
    assert f"/console/sessions/{session}/receipts" in page
    for words in ("redacted: the label", "not recorded what it carries", "The log is whole"):
        assert words in page, words
    assert "staging.env" not in page, "nobody knows what it carries, and nothing of it was given"
    page = visitor.get("/console/content/file?path=deploy/staging.env")
    assert "Who saw it" in page
    page = visitor.get("/console/content/who-saw?path=deploy/staging.env")
    assert "✕ withheld" in page
    assert "the vault never had it" in visitor.get("/console/audit/who-saw?secret=NEVER")


def test_a_log_that_does_not_hold_says_so_beside_the_answer(world: World, visitor: Visitor) -> None:
    chat(world)
    world.rows("UPDATE audit SET actor = 'eve' WHERE action = 'content.delivered'")
    page = visitor.get(f"/console/audit/who-saw?secret={NAME}")
    assert "The log is not whole" in page
    assert "redacted: the label" in page


def test_the_log_is_asked_for_some_rows(world: World, visitor: Visitor) -> None:
    session = chat(world)
    assert "content.delivered" in visitor.get("/console/audit")
    assert "content.delivered</td>" not in visitor.get("/console/audit?changes=1")
    page = visitor.get(f"/console/audit?subject={session}&action=content.delivered")
    assert "3 rows" in page


def test_receipts_do_not_push_changes_off_the_page_of_a_session(world: World, visitor: Visitor) -> None:
    session = chat(world)
    world.post(f"/api/sessions/{session}/model", {"model": "cloud/other"})
    detail = {"model": MODEL, "tier": "cloud", "messages": 1}
    world.store.append_receipts(action="model.sent", subject=session, details=[detail] * 600, by=BY)
    assert "cloud/other" in visitor.get(f"/console/sessions/{session}/timeline")
    page = visitor.get(f"/console/sessions/{session}/receipts")
    assert page.count('class="card side-row') == MOST_ROWS
    assert "Older receipts" in page


def test_a_receipt_that_somebody_spoiled_is_named(world: World, visitor: Visitor) -> None:
    session = chat(world)
    world.rows("UPDATE audit SET detail = '{\"items\": 1}' WHERE action = 'content.delivered'")
    assert "cannot be read" in visitor.get(f"/console/sessions/{session}/receipts")
    assert "3 receipts cannot be read" in visitor.get("/console/audit/who-saw?item=README.md")
