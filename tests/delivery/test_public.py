"""Failures of other systems with content on its way to a model, rebuilt at our own doors."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from tests.delivery.stage import LABEL, NAME, Stage, State
from tests.http.served import KEY, PERSON


def put(stage: Stage, path: str, content: str) -> None:
    assert stage.send("PUT", f"/api/files/text/{path}", json={"content": content}).status_code == 200


def names(found: Any) -> list[str]:
    return sorted(one["path"] for one in found["items"])


@pytest.fixture
def kept(stage: Stage) -> Stage:
    """A workspace on the disk and the same files in the store, one of them where no model may read."""
    for path, text in (("app/secrets/id_key", "marker K"), ("app/a.txt", "marker a"), ("app/b.txt", "b")):
        put(stage, path, text)
        place = stage.workspace / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
    return stage


def test_a_search_and_a_list_give_nothing_that_a_read_would_not(kept: Stage) -> None:
    grep = kept.ask("GET", "/api/files/grep", params={"pattern": "marker", "path": "app"}).json()
    assert [one["path"] for one in grep["items"]] == ["app/a.txt"]
    assert sum(grep["withheld"].values()) == 1
    assert "marker K" not in str(grep)
    search = kept.ask("GET", "/api/files/search", params={"query": "marker"}).json()
    assert "marker K" not in str(search)
    for path in ("/api/files/grep?pattern=marker&path=app/secrets", "/api/files?path=app/secrets"):
        reply = kept.ask("GET", path)
        assert (reply.status_code, reply.json()["reason"]["code"]) == (403, "rule")
    for told in (
        kept.tool("grep_files", pattern="marker", path="app"),
        kept.tool("files_grep", pattern="marker", path="app"),
    ):
        assert "marker a" in told
        assert "marker K" not in told
    for told in (kept.tool("list_files", path="app/secrets"), kept.tool("files_list", path="app/secrets")):
        assert "id_key" not in told
    asked = kept.submitted("execute_cmd", {"command": "grep -r marker app"})
    assert asked["call"]["state"] == "awaiting_approval", "what it prints cannot be looked at file by file"


def test_a_list_leaves_out_names_that_a_read_would_be_refused(kept: Stage) -> None:
    found = kept.ask("GET", "/api/files", params={"path": "app"}).json()
    assert names(found) == ["app/a.txt", "app/b.txt"]
    assert (found["total"], found["withheld"]) == (3, 1), "how many there are is no content"
    assert "id_key" not in kept.tool("files_list")
    assert names(kept.send("GET", "/api/files", PERSON).json()) == ["app/a.txt", "app/b.txt", "app/secrets/id_key"]


def test_an_argument_that_is_left_out_is_no_check_that_is_left_out(kept: Stage) -> None:
    """A tool that may be called without a path looks at every item by itself then."""
    for path in ("/api/files/grep?pattern=marker", "/api/files/search?query=marker", "/api/files/archive"):
        reply = kept.ask("GET", path)
        assert reply.status_code == 200, reply.text
        assert b"marker K" not in reply.content
    # What was moved into a closed place is closed there, its older versions too.
    kept.send("POST", "/api/files/move", json={"path": "app/a.txt", "to": "app/secrets/a.txt"})
    assert kept.ask("GET", "/api/files/text/app/a.txt?version=1").status_code in (403, 404)
    assert "marker a" not in kept.ask("GET", "/api/files/grep?pattern=marker").text


def test_masking_for_one_audience_leaves_the_others_copy_alone(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """What a person is given is not what a log or a model is given, though it is the same value and the same time."""
    content = f"Hello {stage.value}, done"
    headers = {"Stanch-Secrets": NAME}
    stage.write(State.ENTRIES, "PUT", "/api/files/text/a.txt", json={"content": content}, headers=headers)
    seen: dict[str, set[str]] = {"person": set(), "key": set(), "model": set()}

    def asking(who: str) -> None:
        for _ in range(5):
            if who == "model":
                reply = stage.ask("GET", "/api/files/text/a.txt")
            else:
                reply = stage.send("GET", "/api/files/text/a.txt", PERSON if who == "person" else KEY)
            seen[who].add(reply.json()["text"])

    for who in (PERSON, KEY):
        stage.client(who)
    stage.ask("GET", "/api/files/text/a.txt")
    threads = [threading.Thread(target=asking, args=(who,)) for who in seen]
    with caplog.at_level(logging.DEBUG, logger="stanch"):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert seen == {"person": {content}, "key": {content}, "model": {f"Hello {LABEL}, done"}}
    assert not stage.holds("\n".join(one.getMessage() for one in caplog.records if one.name.startswith("stanch")))
