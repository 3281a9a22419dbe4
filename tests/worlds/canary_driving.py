"""Fills a world with marks of one state, goes through every door, and tells the map of whatever came out."""

from __future__ import annotations

import base64
import io
import itertools
import json
import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from PIL import Image, PngImagePlugin
from typer.testing import CliRunner

from stanch.app.tools import ToolResult
from stanch.delivery.gates import RegistryGate
from stanch.delivery.source import Source
from stanch.runtime.scripted_reply import Reply, ToolUse, fail, say
from stanch.surfaces.cli.main import app
from stanch.values.fault import Fault
from tests.delivery.stage import NAME, Stage, State
from tests.fakes.model_server import ModelServer, model_server
from tests.http.served import COPILOT, PERSON, served, until
from tests.worlds.canary_doors import OCTETS, changing, commands, reading, tools
from tests.worlds.canary_map import KINDS, Map

MORE = """
[proxy.usual]
openai = "fake"
[approvals.webhook]
url = "{url}/nowhere"
secret_env = "STANCH_TEST_WEBHOOK"
"""
SEND, PROXY, EVENTS = "send to the model's provider", "model proxy to its provider", "events, to a model's token"
LOGS, FAULTS, AUDIT, HOOK = "log records", "exceptions", "audit rows and receipts", "what a webhook is told"
PARTS = (SEND, PROXY, EVENTS, LOGS, FAULTS, AUDIT, HOOK)
IN_SEND = "txt ver bin cmp doc chk cel val log fil tol msg"


class Driving:
    """One world whose content carries marks of one state."""

    def __init__(self, made: Map, state: State, stage: Stage, models: ModelServer, steps: deque[Reply]) -> None:
        self.map, self.state, self.stage, self.models, self._steps = made, state, stage, models, steps
        self.marks = made.marks[state]
        self.door = ""
        self.things: dict[str, str] = {}

    def fill(self) -> None:
        """Stores one thing of each kind."""
        stage, marks = self.stage, self.marks
        if self.state is State.ENTRIES:
            for kind, mark in marks.items():
                stage.secret(f"MARK_{kind.upper()}", mark)
        stage.begin()
        stage.free()
        for path, kind in (("text.txt", "txt"), ("version.txt", "ver"), ("link.txt", "lnk"), ("bench.txt", "wbk")):
            self._text(path, f"needle {marks[kind]} tail\n")
        self._text("report.md", f"# needle\n\n{marks['cmp']}\n")
        self._text("rows.csv", f"a\n{marks['txt']}\n")
        stage.write(State.UNRECORDED, "PUT", "/api/files/text/version.txt", json={"content": "nothing"})
        self._write("PUT", "/api/files/content/raw.bin", content=b"\0\xff" + marks["bin"].encode(), headers=OCTETS)
        self._write("PUT", "/api/files/content/picture.png", content=_picture(marks["bin"]), headers=OCTETS)
        body = {"title": f"title {marks['doc']}", "text": f"needle {marks['chk']} tail", "tags": [f"t {marks['doc']}"]}
        self.things["doc"] = self._write("POST", "/api/knowledge/documents", json=body)["id"]
        other = {"title": "other", "text": "other"}
        self.things["doc2"] = stage.write(State.UNRECORDED, "POST", "/api/knowledge/documents", json=other).json()["id"]
        self.things["run"] = self._write("POST", "/api/runs", json=self._run())["id"]
        columns = [{"name": "a"}, {"name": "n", "type": "integer"}]
        stage.write(State.UNRECORDED, "POST", "/api/tables", json={"name": "t", "columns": columns})
        self._write("POST", "/api/tables/t/rows", json={"rows": [{"a": f"needle {marks['cel']}"}]})
        stage.write(State.UNRECORDED, "POST", "/api/tables/t/rows", json={"rows": [{"n": 1}]})
        names = (f"MARK_{kind.upper()}" for kind in KINDS) if self.state is State.ENTRIES else ()
        given = tuple(names)
        complete = self.state is not State.UNKNOWN
        stage.service.tools.add("look_up", lambda _: ToolResult({"found": marks["tol"]}, given, complete))
        (stage.workspace / "disk.txt").write_text("nothing here\n", "utf-8")
        for name in ("call", "call2"):
            self.things[name] = stage.submitted("files_read", {"path": "text.txt"})["call"]["id"]
        asked = stage.ask("POST", f"/api/sessions/{stage.chat}/questions", json={"question": "which?"})
        self.things["question"] = asked.json().get("request_id", "none")
        self.things["chat"] = stage.chat

    def _run(self) -> dict[str, Any]:
        marks = self.marks
        packed = base64.b64encode(b"\0" + marks["fil"].encode()).decode()
        return {
            "name": "n",
            "synchronous": True,
            "input": f"needle {marks['val']}",
            "output": {"said": f"needle {marks['val']}", "of": {"file": "p.bin", "base64": packed}},
            "steps": [{"tool": "elsewhere", "result": marks["val"], "logs": [marks["log"]]}],
            "files": [{"name": "log.txt", "text": f"needle {marks['fil']}"}],
        }

    def drive(self, out: Path, *, all_doors: bool) -> None:
        """Goes through the doors: those of the network here, and where `all_doors` tools and commands, too."""
        things = {**self.things, "out": str(out / "got.txt"), "zip": str(out / "got.zip")}
        for door in reading(things):
            self._asks(door.reach, door.shows, door.asks)
        self._look(EVENTS, self._request("GET", "/api/events", {}))
        self._proxied()
        if all_doors:
            self._typed(things)
            self._told(things)
        for door in changing(things):
            self._asks(door.reach, door.shows, door.asks)
        self._look(SEND, self.models.raw(), IN_SEND if all_doors else "")
        # WHY not what the person's own message says: it is there as it was said.
        rows = self.stage.rows("SELECT subject, detail FROM audit")
        self._look(AUDIT, json.dumps(rows).encode())

    def _asks(self, reach: str, shows: str, asks: tuple[tuple[str, dict[str, Any]], ...]) -> None:
        method = reach.partition(" ")[0]
        self.door = reach
        for path, given in asks:
            data = self._request(method, path, given)
            if reach == "POST /api/links" and b"/links/" in data:
                # What the link gives is what has got out.
                address = json.loads(data.partition(b"\n\n")[2])["address"]
                data += httpx2.get(self.stage.url + address, verify=False).content
            self._look(reach, data, shows)

    def _request(self, method: str, path: str, given: dict[str, Any]) -> bytes:
        headers = {"Stanch-Session": self.stage.chat, **given.get("headers", {})}
        more = {name: value for name, value in given.items() if name != "headers"}
        body = b""
        with self.stage.client(COPILOT).stream(method, path, headers=headers, **more) as reply:
            try:
                for chunk in reply.iter_bytes():
                    body += chunk
            except httpx2.HTTPError:
                pass
        if body[:4] == b"%PDF" or body[:2] == b"PK":
            return body
        return f"{reply.status_code} {dict(reply.headers)}".encode() + b"\n\n" + body

    def _told(self, things: dict[str, str]) -> None:
        """What a model is told of its tools, a conversation for each."""
        for told in tools(things):
            door, asks = f"tool {told.tool}", told.tool == "ask_user"
            self.door = door
            session = self.stage.chat_of("fake/scripted")
            self.stage.free(session)
            uses = (Reply((ToolUse(told.tool, one, f"use_{at}"),)) for at, one in enumerate(told.calls))
            self._steps.extend((*uses, say("done")))
            before = len(self.models.requests)
            said = f"go: {self.marks['msg']}" if self.state is not State.UNKNOWN else "go"
            turn = self.stage.post(f"/api/sessions/{session}/messages?wait={0 if asks else 60}", {"text": said}, 202)
            if asks:
                turn = self._answered(turn["id"], session)
            assert turn["state"] == "completed", (told, turn, self.stage.get("/api/inbox"))
            messages = json.loads(self.models.requests[-1].raw)["messages"]
            first = next(at for at, one in enumerate(messages) if one["role"] == "assistant")
            answers = json.dumps(messages[first:], ensure_ascii=False)
            assert len(self.models.requests) > before
            self._look(door, answers.encode(), told.shows)
            if told.tool == "files_share" and "/links/" in answers:
                address = "/links/" + answers.partition("/links/")[2].partition('\\"')[0]
                self._look(door, httpx2.get(self.stage.url + address, verify=False).content)

    def _answered(self, turn: str, session: str) -> Any:
        """The turn, once a person has answered its question."""

        def asked() -> list[Any]:
            waits = self.stage.get("/api/inbox")["clarifications"]
            return [one for one in waits if one["session_id"] == session]

        until(lambda: bool(asked()), "the question")
        for one in asked():
            self.stage.post(f"/api/inbox/clarifications/{one['request_id']}/resolve", {"answer": "this one"})
        until(lambda: bool(self.stage.get(f"/api/turns/{turn}")["state"] != "running"), "the end of the turn")
        return self.stage.get(f"/api/turns/{turn}")

    def _typed(self, things: dict[str, str]) -> None:
        token = self.stage.client(COPILOT).headers["Authorization"].partition(" ")[2]
        for typed in commands(things):
            door = self.door = f"stanch {' '.join(typed.words[:2])}"
            options = ["--url", self.stage.url, "--token", token, "--session", self.stage.chat]
            ended = CliRunner().invoke(app, [*typed.words, *options], prog_name="stanch")
            data = (ended.stdout + ended.stderr).encode()
            self._look(door, data, typed.shows)
            for name in ("out", "zip"):
                place = Path(things[name])
                if things[name] in typed.words and place.exists():
                    self._look(door, place.read_bytes())

    def _proxied(self) -> None:
        """A program's own model, through the proxy: what it read somewhere stands in its messages."""
        self.door = PROXY
        known = self.state is not State.UNKNOWN
        read = " ".join(self.marks.values()) if known else "nothing"
        self._steps.append(say("done"))
        before = len(self.models.requests)
        body = {"model": "scripted", "messages": [{"role": "user", "content": f"what is {read}?"}]}
        reply = self.stage.client(PERSON).post("/v1/chat/completions", json=body)
        assert reply.status_code == 200, reply.text
        sent = b"".join(one.raw for one in self.models.requests[before:])
        self._look(PROXY, sent, " ".join(KINDS) if known else "")

    def _look(self, door: str, data: bytes, shows: str = "") -> None:
        self.map.look(self.state, door, data, shows.split())

    def _text(self, path: str, text: str) -> None:
        self._write("PUT", f"/api/files/text/{path}", json={"content": text})

    def _write(self, method: str, path: str, **given: Any) -> Any:
        names = [f"MARK_{kind.upper()}" for kind in KINDS] if self.state is State.ENTRIES else [NAME]
        headers = {**self.stage.headers(self.state, *names), **given.pop("headers", {})}
        return self.stage.write(State.UNRECORDED, method, path, headers=headers, **given).json()


def _picture(mark: str) -> bytes:
    out, head = io.BytesIO(), PngImagePlugin.PngInfo()
    head.add_text("comment", mark)
    Image.new("RGB", (20, 20), "red").save(out, "PNG", pnginfo=head)
    return out.getvalue()


class _Records(logging.Handler):
    def __init__(self, take: Callable[[bytes], None]) -> None:
        super().__init__(logging.DEBUG)
        self._take = take

    def emit(self, record: logging.LogRecord) -> None:
        self._take((record.getMessage() + repr(record.exc_info)).encode())


@contextmanager
def driven(made: Map, state: State, root: Path) -> Iterator[Driving]:
    """A world of this state whose every exit is watched, filled."""
    steps: deque[Reply] = deque()
    patch = pytest.MonkeyPatch()
    patch.setenv("STANCH_TEST_MARK", made.marks[state]["env"])
    patch.setenv("STANCH_TEST_WEBHOOK", "a-key-for-webhooks")
    with ExitStack() as stack:
        stack.callback(patch.undo)
        models = stack.enter_context(model_server(lambda _: steps.popleft() if steps else fail(400, "at its end")))
        stage = Stage(root, models, steps, more=MORE)
        stack.enter_context(served(stage))
        driving = Driving(made, state, stage, models, steps)
        _watch(driving, patch, stack)
        driving.fill()
        yield driving


def _watch(driving: Driving, patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    look, state = driving.map.look, driving.state
    for part in PARTS:
        look(state, part, b"")
    records = _Records(lambda said: look(state, LOGS, said))
    log = logging.getLogger("stanch")
    level = log.level
    log.addHandler(records)
    log.setLevel(logging.DEBUG)
    stack.callback(log.setLevel, level)
    stack.callback(log.removeHandler, records)
    admit, begin = RegistryGate.admit, Fault.__init__

    def admitting(self: RegistryGate, source: Source, *given: Any) -> Any:
        driving.map.views.setdefault(driving.door, set()).add(type(source.view).__name__)
        return admit(self, source, *given)

    def beginning(self: Fault, *given: Any) -> None:
        begin(self, *given)
        look(state, FAULTS, repr(self.args).encode())

    patch.setattr(RegistryGate, "admit", admitting)
    patch.setattr(Fault, "__init__", beginning, raising=False)
    from stanch.app import notifying

    sent = notifying._sent

    def sending(url: str, secret: str, said: Any) -> Any:
        look(state, HOOK, json.dumps(said).encode())
        return sent(url, secret, said)

    patch.setattr(notifying, "_sent", sending)


def inventory() -> list[str]:
    """Every route and tool that a model can reach, and the parts of the map that are none."""
    kept = Path(__file__).resolve().parents[2] / "docs" / "content-inventory.json"
    return list(itertools.chain((row["reach"] for row in json.loads(kept.read_text("utf-8"))), PARTS))
