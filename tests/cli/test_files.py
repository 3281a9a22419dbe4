"""`stanch files` against a real server: for a person, and for a model whose calls a person is asked about."""

from __future__ import annotations

import http.server
import io
import json
import os
import stat
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from stanch.surfaces.cli import content_client
from stanch.surfaces.cli.content_client import whole_file
from tests.cli.conftest import Ended, Stanch
from tests.delivery.stage import LABEL, Stage, State, staged
from tests.http.served import COPILOT, PERSON, World, until


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A server whose address and a person's token are in the environment; the current directory is empty."""
    here = tmp_path / "here"
    here.mkdir()
    with staged(tmp_path) as running:
        monkeypatch.chdir(here)
        monkeypatch.setenv("STANCH_URL", running.url)
        monkeypatch.setattr(content_client, "PAUSES", (0.01,))
        acts_as(running, PERSON, monkeypatch)
        yield running


def acts_as(world: World, who: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANCH_TOKEN", world.client(who).headers["Authorization"].partition(" ")[2])


@pytest.fixture
def model(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """The same, for the chat's model."""
    acts_as(stage, COPILOT, monkeypatch)
    monkeypatch.setenv("STANCH_SESSION", stage.chat)
    return stage


def test_a_file_goes_up_and_comes_down(stage: Stage, stanch: Stanch) -> None:
    data = bytes(range(256)) * 5_000
    Path("big.bin").write_bytes(data)
    assert stanch("files", "put", "big.bin", "in/big.bin").out == "in/big.bin: version 1, 1,280,000 bytes\n"
    assert stanch("files", "get", "in/big.bin", "copy").out == "copy: 1,280,000 bytes\n"
    assert Path("copy").read_bytes() == data
    assert stanch("files", "put", "-", "b.md", stdin="# Ä\nzwei\n").code == 0
    assert stanch("files", "read", "b.md").out == "# Ä\nzwei\n"
    part = stanch("files", "read", "b.md", "--from", "2", "--lines", "1")
    assert (part.out, part.err) == ("zwei\n", "")
    assert stanch("files", "read", "b.md", "--lines", "1").err.startswith("stanch: note: lines 1 to 1 of 2")
    listed = stanch("files", "list").out.splitlines()
    assert [line.split()[-1] for line in listed] == ["b.md", "in/big.bin"]
    assert [one["path"] for one in stanch("files", "list", "in", "--json").json["items"]] == ["in/big.bin"]


def test_versions_edits_moves_and_deletions(stage: Stage, stanch: Stanch) -> None:
    stanch("files", "put", "-", "a.txt", stdin="one\ntwo\n")
    done = stanch("files", "edit", "a.txt", "--old", "two", "--new", "drei")
    assert done.out == "a.txt:2:drei\na.txt: version 2, replaced 1\n"
    late = stanch("files", "edit", "a.txt", "--old", "one", "--new", "1", "--version", "1")
    assert (late.code, late.out) == (1, "")
    assert "has the version 2 by now" in late.err
    assert stanch("files", "read", "a.txt", "--version", "1").out == "one\ntwo\n"
    assert len(stanch("files", "versions", "a.txt").out.splitlines()) == 2
    assert stanch("files", "mv", "a.txt", "b/c.txt").code == 0
    assert stanch("files", "grep", "drei").out == "b/c.txt:2:drei\n"
    assert stanch("files", "search", "DREI").out == "b/c.txt:2: drei\n"
    assert stanch("files", "rm", "b/c.txt").out.startswith("b/c.txt is deleted")
    gone = stanch("files", "read", "b/c.txt")
    assert (gone.code, gone.out, gone.err) == (1, "", "stanch: there is no file 'b/c.txt'\n")
    assert stanch("files", "read", "b/c.txt", "--version", "1").out == "one\ntwo\n"


def test_nothing_is_written_over(stage: Stage, stanch: Stanch, monkeypatch: pytest.MonkeyPatch) -> None:
    stanch("files", "put", "-", "a.txt", stdin="new")
    Path("a.txt").write_text("mine", "utf-8")
    refused = stanch("files", "get", "a.txt")
    assert (refused.code, Path("a.txt").read_text("utf-8")) == (2, "mine")
    assert "--force" in refused.err
    # A name that is taken while the bytes come is no less taken.
    monkeypatch.setattr(content_client, "vacant", lambda *_, **__: None)
    assert stanch("files", "get", "a.txt").code == 2
    assert Path("a.txt").read_text("utf-8") == "mine"
    Path("way").symlink_to("elsewhere")
    assert stanch("files", "get", "a.txt", "way").code == 2
    assert not Path("elsewhere").exists()
    assert stanch("files", "get", "a.txt", "--force").code == 0
    assert Path("a.txt").read_text("utf-8") == "new"
    assert sorted(path.name for path in Path().iterdir()) == ["a.txt", "way"]


def test_a_download_that_breaks_off_leaves_nothing(
    stage: Stage, stanch: Stanch, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stub(b"only a part", length=1_000) as url:
        monkeypatch.setenv("STANCH_URL", url)
        broken = stanch("files", "get", "a.txt")
    assert (broken.code, broken.out) == (2, "")
    assert broken.err == "stanch: the server stopped in the middle: nothing was kept\n"
    assert list(Path().iterdir()) == []


def test_an_archive_and_its_manifest(stage: Stage, stanch: Stanch) -> None:
    stanch("files", "put", "-", "d/a.txt", stdin="x")
    assert stanch("files", "zip", "all.zip").code == 0
    with zipfile.ZipFile(io.BytesIO(Path("all.zip").read_bytes())) as packed:
        assert packed.read("d/a.txt") == b"x"
        assert json.loads(packed.read("stanch-manifest.json"))["left_out"] == []
    assert stanch("files", "zip", "none.zip", "--path", "nowhere").code == 1
    assert not Path("none.zip").exists()


def test_links_are_made_followed_and_revoked(stage: Stage, stanch: Stanch) -> None:
    stanch("files", "put", "-", "a.txt", stdin="shared")
    made = stanch("files", "share", "a.txt", "--json").json
    assert stage.client().get(made["url"], headers={"Authorization": ""}).text == "shared"
    listed = stanch("files", "links", "a.txt").out
    assert made["id"] in listed
    assert made["token"] not in listed
    assert stanch("files", "unshare", "a.txt", made["id"]).out == "revoked: 1\n"
    gone = stage.client().get(made["url"], headers={"Authorization": ""})
    assert (gone.status_code, gone.json()["detail"]) == (404, "there is no such link")
    assert "there are no links to it" in stanch("files", "links", "a.txt").err


def test_what_is_not_there_is_said(stage: Stage, stanch: Stanch) -> None:
    stanch(
        "files",
        "put",
        "-",
        "a.md",
        stdin="one\ntwo\n",
    )
    assert stanch("files", "list", "--json").json["items"][0]["media_type"] == "text/markdown"
    for words, said in (
        (("list", "b"), "there are no files below this path; `stanch files put FILE PATH` uploads one"),
        (("grep", "three"), "nothing was found"),
        (("search", "three"), "nothing was found"),
        (("read", "a.md", "--from", "9"), "there are no such lines: the file has 2"),
    ):
        ended = stanch("files", *words)
        assert (ended.code, ended.out, ended.err) == (0, "", f"stanch: note: {said}\n"), words
    assert stanch("files", "read", "a.md", "--version", "9").err == "stanch: there is no version '9'\n"


def test_what_a_model_may_not_have(model: Stage, stanch: Stanch) -> None:
    for state, path in ((State.UNKNOWN, "u.txt"), (State.ENTRIES, "e.txt")):
        model.write(state, "PUT", f"/api/files/text/{path}", json={"content": model.written(state)})
    assert stanch("files", "read", "e.txt").out == f"the key is {LABEL} and nothing else\n"
    for words in (("read", "u.txt"), ("get", "u.txt"), ("get", "e.txt"), ("links", "e.txt"), ("grep", "key", "u.txt")):
        refused = stanch("files", *words)
        assert (refused.code, refused.out) == (1, ""), words
        model.assert_clean(refused.err)
    assert list(Path().iterdir()) == []
    assert "withheld: 1 (reason content_unknown)" in stanch("files", "grep", "key").err


def test_an_interrupted_command_takes_its_request_back(
    model: Stage, stanch: Stanch, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted:
        @staticmethod
        def sleep(_: float) -> None:
            assert model.get("/api/inbox")["total"] == 1
            raise KeyboardInterrupt

    monkeypatch.setattr(content_client, "time", Interrupted)
    Path("up.txt").write_text("uploaded", "utf-8")
    ended = stanch("files", "put", "up.txt", "up.txt")
    assert (ended.code, ended.out) == (130, "")
    assert "the request is taken back" in ended.err
    assert model.get("/api/inbox")["total"] == 0


def asked(model: Stage, stanch: Stanch, action: str, *words: str) -> Ended:
    """What a command ends with that waits for a person, who then answers so."""
    ended: list[Ended] = []
    thread = threading.Thread(target=lambda: ended.append(stanch(*words)), daemon=True)
    thread.start()
    try:
        until(lambda: bool(model.get("/api/inbox")["approvals"]), "the request")
        (request,) = model.get("/api/inbox")["approvals"]
        model.post(f"/api/inbox/approvals/{request['request_id']}/resolve", {"action": action, "note": "not today"})
    finally:
        thread.join(30)
    assert ended, "the command came to no end"
    return ended[0]


def test_a_person_is_asked_and_the_call_goes_on(model: Stage, stanch: Stanch) -> None:
    Path("up.txt").write_text("uploaded", "utf-8")
    done = asked(model, stanch, "approve", "files", "put", "up.txt", "up.txt")
    assert (done.code, done.out) == (0, "up.txt: version 1, 8 bytes\n")
    assert "files_write needs approval: waiting for a person" in done.err
    assert model.send("GET", "/api/files/text/up.txt").json()["text"] == "uploaded"
    done = asked(model, stanch, "approve", "files", "edit", "up.txt", "--old", "up", "--new", "down")
    assert (done.code, done.out.splitlines()[-1]) == (0, "up.txt: version 2, replaced 1")


def test_a_person_who_says_no(model: Stage, stanch: Stanch) -> None:
    Path("up.txt").write_text("uploaded", "utf-8")
    done = asked(model, stanch, "reject", "files", "put", "up.txt", "up.txt")
    assert (done.code, done.out) == (1, "")
    assert "files_write was not approved: Rejected by " in done.err
    assert done.err.endswith(" [not today]\n")
    assert model.send("GET", "/api/files/text/up.txt").status_code == 404


def test_mistakes_end_with_two(stage: Stage, stanch: Stanch, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (("put", "none.txt", "a.txt"), ("read", "/"), ("read", "../x"), ("grep", "("), ("put", ".", "a.txt")):
        ended = stanch("files", *words)
        assert (ended.code, ended.out) == (2, ""), (words, ended)
        assert ended.err.startswith("stanch: ")
        assert "Traceback" not in ended.err
    with stub(b"<html>") as url:
        monkeypatch.setenv("STANCH_URL", url)
        assert "is no Stanch server" in stanch("files", "list").err


@contextmanager
def stub(body: bytes, *, length: int | None = None) -> Iterator[str]:
    """A server that answers everything with some bytes, and says that there are `length` of them."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body) if length is None else length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(30)


def test_a_pipe_is_written_into_and_not_replaced(tmp_path: Path) -> None:
    """As is every device: whoever sends bytes to /dev/null wants it to be there afterwards."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with whole_file(pipe, force=True) as file:
            file.write(b"words")
        assert os.read(reader, 100) == b"words"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
