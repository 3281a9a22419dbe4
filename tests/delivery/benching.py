"""A chat's workbench, as its model uses it: code that is run, files that are fetched into it."""

from __future__ import annotations

import json
from typing import Any

import httpx2

from stanch.runtime.scripted_reply import say, use
from tests.delivery.stage import MODEL, Stage, State

ENDED = "[It ended with exit code 0.]"
WITHHELD = "Withheld because the workbench holds what nobody can vouch for"


class Chat:
    """A chat of the stage, with whatever its model is told."""

    def __init__(self, stage: Stage, model: str = MODEL, *, free: bool = True, **fields: Any) -> None:
        self.stage, self.id = stage, stage.chat_of(model, **fields)
        if free:
            stage.free(self.id)

    def tool(self, name: str, /, **arguments: Any) -> str:
        """What the model is told of one call."""
        self.stage._steps.extend((use(name, **arguments), say("done")))
        turn = self.stage.post(f"/api/sessions/{self.id}/messages?wait=60", {"text": "go"}, 202)
        assert turn["state"] == "completed", turn
        told = [one for one in self.stage.models.bodies()[-1]["messages"] if one["role"] == "tool"]
        text = str(told[-1]["content"])
        self.stage.assert_clean(text)
        return text

    def run(self, code: str, *mounts: str, language: str = "python", **more: Any) -> str:
        """What it is told of some code."""
        given = {"mounts": list(mounts)} if mounts else {}
        return self.tool("run_code", code=code, language=language, **given, **more)

    def bash(self, code: str, *mounts: str, **more: Any) -> str:
        """The same, of a script for bash."""
        return self.run(code, *mounts, language="bash", **more)

    def fetch(self, path: str, **body: Any) -> httpx2.Response:
        """What a request is answered with that copies a file into the workbench."""
        return self.stage.ask("POST", f"{self.at}/files", session=self.id, json={"path": path, **body})

    def taint(self, path: str = "u.txt") -> None:
        """Copies a file into the workbench of which nobody knows what it carries."""
        self.stage.assert_withheld(self.fetch(path), "workbench_tainted", saved=True)

    @property
    def at(self) -> str:
        """Its workbench's address."""
        return f"/api/sessions/{self.id}/workbench"

    def shown(self) -> Any:
        """What a person sees of it."""
        return self.stage.get(self.at)

    def entries(self) -> dict[str, bool]:
        """Each entry, and whether it is tainted."""
        return {one["path"]: one["tainted"] for one in self.shown()["entries"]}

    def output(self) -> str:
        """What was withheld from the model last."""
        call = self.shown()["outputs"][0]
        return str(self.stage.get(f"{self.at}/outputs/{call}")["text"])

    def read(self, path: str) -> bytes:
        """An entry of it, as a person reads it."""
        reply = self.stage.send("GET", f"{self.at}/files/{path}")
        assert reply.status_code == 200, reply.text
        return reply.content


def excluded(told: str) -> dict[str, str]:
    """Which files were not mounted, and why."""
    found = json.loads(told)
    assert found["ran"] is False
    return {one["path"]: one["reason"] for one in found["excluded_inputs"]}


def put(stage: Stage, state: State, path: str, text: str | None = None) -> str:
    """A stored file of that state; its text."""
    text = stage.written(state) if text is None else text
    stage.write(state, "PUT", f"/api/files/text/{path}", json={"content": text})
    return text


def all_kinds(stage: Stage) -> None:
    """Files `u.txt`, `e.txt` and `c.txt`, one of each kind."""
    for state, path in ((State.UNKNOWN, "u.txt"), (State.ENTRIES, "e.txt"), (State.UNRECORDED, "c.txt")):
        put(stage, state, path)
