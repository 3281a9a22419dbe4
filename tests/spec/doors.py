"""The doors through which cases are asked: the library, the command line, and REST.

Each door translates a case into what its own users would write, and its answer back. None knows what is right.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient
from typer.testing import CliRunner

from stanch.app.case_judging import USUAL
from stanch.app.case_places import Place
from stanch.app.case_records import Case, Change, Conversed, History, Holds, Judge, Load, Open, Probed, Send
from stanch.app.case_runner import Door, LibraryDoor
from stanch.app.case_told import Mismatch, Told
from stanch.app.service import Service
from stanch.storage.store import Store
from stanch.surfaces.cli.main import app
from stanch.surfaces.http.application import application
from stanch.tiers.history import Redacted
from stanch.values.fault import BadInput
from stanch.values.identity import Principal, PrincipalKind
from stanch.values.message import Message
from stanch.values.reason import Code
from stanch.values.records import Actor
from stanch.values.verdict import Face
from tests.spec import filtering

EXITS = {0: "allow", 10: "ask", 11: "deny"}
ONLY_A_PROGRAM_GIVES = ("active", "rows", "above", "layers", "bypass", "store", "also", "answers", "organization_rules")


class CommandLineDoor:
    """`stanch check --json` and `stanch policy check --json`, in this process."""

    def expresses(self, case: Case) -> bool:
        """True for calls and loading, in sessions that can be typed."""
        if any(isinstance(act, (History, Conversed)) for act in case.acts):
            return filtering.expresses(case)
        if any(isinstance(act, Probed) and not act.options.keys() <= {"face", "deadline_ms"} for act in case.acts):
            return False
        acts = all(isinstance(act, (Judge, Load, Change, Holds, Probed)) for act in case.acts)
        relative = not str(case.given.get("cwd", "/")).startswith("/")  # read against where the command is typed
        return acts and not relative and not any(key in case.given for key in ONLY_A_PROGRAM_GIVES)

    def judge(self, place: Place, act: Judge) -> Told:
        given: Mapping[str, Any] = place.mapped(place.case.given)
        words = ["check", "--policy", str(place.real(place.policy)), "--json"]
        words += ["--tool", act.tool, "--args", json.dumps(place.mapped(act.args))]
        for key in ("group", "agent", "source", "model", "cwd"):
            words += [f"--{key}", given[key]] if key in given else []
        words += ["--context", json.dumps(given["context"])] if "context" in given else []
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        if done.exit_code not in EXITS:
            assert done.exit_code == 2
            assert not done.stdout
            return Told(fault=done.stderr, everything=done.stderr)
        said = json.loads(done.stdout)
        assert said["effect"] == EXITS[done.exit_code]
        reason, rule = said["reason"], said["reason"]["rule"] or {}
        return Told(
            said["effect"], reason["code"], reason["layer"], rule.get("id"), rule.get("group"), reason["subject"],
            rule.get("place"), reason["sentence"], None, done.output,
        )  # fmt: skip

    def verdict(self, place: Place, act: Probed, face: Face) -> dict[str, Any] | str:
        given: Mapping[str, Any] = place.mapped(place.case.given)
        options = place.mapped(dict(act.options))
        words = ["judge", "--policy", str(place.real(place.policy)), "--json", f"--{face.value}"]
        words += ["--face", options.get("face", USUAL)]
        for key in ("group", "agent", "source", "model", "cwd"):
            words += [f"--{key}", given[key]] if key in given else []
        words += ["--context", json.dumps(given["context"])] if "context" in given else []
        words += ["--deadline-ms", str(options["deadline_ms"])] if "deadline_ms" in options else []
        done = CliRunner().invoke(app, [*words, "--", place.mapped(act.path)], catch_exceptions=False)
        if done.exit_code == 2:
            assert not done.stdout
            return done.stderr
        (record,) = json.loads(done.stdout)
        assert done.exit_code == {"no_objection": 0, "deny": 11}.get(record["verdict"], 10)
        found: dict[str, Any] = record
        return found

    def problems(self, place: Place) -> list[tuple[int, str, bool]]:
        done = CliRunner().invoke(app, ["policy", "check", str(place.real(place.policy)), "--json"])
        found = json.loads(done.stdout)["problems"]
        assert done.exit_code == (1 if found else 0)
        return [(one["line"], one["message"], one["warning"]) for one in found]

    def findings(self, place: Place) -> list[tuple[int, str]]:
        done = CliRunner().invoke(app, ["policy", "lint", str(place.real(place.policy)), "--json"])
        found = json.loads(done.stdout)["findings"]
        return [(int(one["place"].rpartition(":")[2]), one["message"]) for one in found]

    def opens(self, act: Open) -> Code | None:
        raise NotImplementedError

    def sent(self, place: Place, said: Sequence[Message], send: Send) -> Redacted:
        return filtering.sent(_redacted_by_command, place, said, send)

    def conversed(self, place: Place, act: Conversed) -> list[Mismatch]:
        return filtering.conversed(_redacted_by_command, place, act)


def _redacted_by_command(policy: Path, given: Any, model: str, /, **options: Any) -> Any:
    """What `stanch redact` prints; and nothing, not even a part of it, where it refuses."""
    words = ["redact", "--policy", str(policy), "--model", model, "--report"]
    words += ["--cwd", options["cwd"]] if "cwd" in options else []
    words += ["--answers", json.dumps(options["answers"])] if "answers" in options else []
    words += ["--no-quotes"] if options.get("quotes") is False else []
    done = CliRunner().invoke(app, words, input=json.dumps(given), catch_exceptions=False)
    if done.exit_code != 0:
        assert (done.exit_code, done.stdout) == (2, "")
        raise BadInput(done.stderr)
    return json.loads(done.stdout)


class RestDoor:
    """`POST /api/check`, in this process: a service over an empty store and the policy file of the case."""

    def expresses(self, case: Case) -> bool:
        """True for calls, in sessions that can be described. What a policy file holds is asked elsewhere."""
        if any(isinstance(act, (History, Conversed)) for act in case.acts):
            return filtering.expresses(case)
        if any(isinstance(act, Probed) and not act.options.keys() <= {"face", "deadline_ms"} for act in case.acts):
            return False
        acts = all(isinstance(act, (Judge, Change, Holds, Probed)) for act in case.acts)
        return acts and not any(key in case.given for key in ONLY_A_PROGRAM_GIVES)

    def judge(self, place: Place, act: Judge) -> Told:
        given: Mapping[str, Any] = place.mapped(place.case.given)
        body = {key: given[key] for key in ("group", "agent", "source", "model", "cwd", "context") if key in given}
        body |= {"tool": act.tool, "arguments": place.mapped(act.args)}
        reply = asked_over_rest(place.real(place.policy), body)
        said = reply.json()
        if reply.status_code != 200:
            assert reply.status_code == 422, reply.text
            message = "; ".join(one["message"] for one in said["errors"])
            return Told(code=said.get("code"), fault=message, everything=reply.text)
        reason, rule = said["reason"], said["reason"]["rule"] or {}
        at = "seeded" if rule.get("place") == "database" else rule.get("place")  # the store seeds the same rules
        return Told(
            said["effect"], reason["code"], reason["layer"], rule.get("id"), rule.get("group"), reason["subject"], at,
            reason["sentence"], None, reply.text,
        )  # fmt: skip

    def verdict(self, place: Place, act: Probed, face: Face) -> dict[str, Any] | str:
        given: Mapping[str, Any] = place.mapped(place.case.given)
        options = place.mapped(dict(act.options))
        body = {key: given[key] for key in ("group", "agent", "source", "model", "cwd", "context") if key in given}
        body |= {"face": options.get("face", USUAL), "access": face.value, "path": place.mapped(act.path)}
        if "deadline_ms" in options:
            body["deadline_at"] = int(time.time() * 1000) + options["deadline_ms"]
        reply = asked_over_rest(place.real(place.policy), body, "/api/judge")
        if reply.status_code != 200:
            assert reply.status_code == 422, reply.text
            return str(reply.json()["detail"])
        record: dict[str, Any] = reply.json()
        batch = asked_over_rest(
            place.real(place.policy), {**body, "paths": [body["path"]] * 2, "path": None}, "/api/judge"
        )
        assert batch.json() == [record] * 2
        return record

    def problems(self, place: Place) -> list[tuple[int, str, bool]]:
        raise NotImplementedError

    def findings(self, place: Place) -> list[tuple[int, str]]:
        raise NotImplementedError

    def opens(self, act: Open) -> Code | None:
        raise NotImplementedError

    def sent(self, place: Place, said: Sequence[Message], send: Send) -> Redacted:
        return filtering.sent(_redacted_over_rest, place, said, send)

    def conversed(self, place: Place, act: Conversed) -> list[Mismatch]:
        return filtering.conversed(_redacted_over_rest, place, act)


def _redacted_over_rest(policy: Path, given: Any, model: str, /, **options: Any) -> Any:
    key = "body" if isinstance(given, dict) else "messages"
    reply = asked_over_rest(policy, {key: given, "model": model, **options}, "/api/history/redact")
    if reply.status_code != 200:
        assert reply.status_code in (409, 422), reply.text
        raise BadInput(reply.json()["detail"])
    return reply.json()


class _Server:
    """One application for every case; the service behind it is made anew for each policy file that is asked."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="stanch-door-")
        self._store = Store.open(f"sqlite:///{self._folder.name}/stanch.db")
        self._store.migrate()
        person = Principal(PrincipalKind.USER, "ada")
        token = self._store.create_token(name="door", principal=person, by=Actor("ada", "test")).secret
        self._service = Service.open(store=self._store, policy=None, workspace=Path(self._folder.name))
        self._asked: tuple[Path, str] | None = None
        self._app = application(self._service)
        # WHY: Stanch's own exceptions have to come out as answers here, as they do behind a real server.
        self._client = TestClient(self._app, headers={"Authorization": f"Bearer {token}"})

    def ask(self, policy: Path, body: Mapping[str, Any], address: str) -> Any:
        """What is answered over this policy file."""
        if self._asked != (policy, os.environ["HOME"]):
            self._service.close()
            os.utime(policy, (0, 0))  # not a file that is just being written
            self._service = Service.open(store=self._store, policy=policy, workspace=None)
            self._app.state.service = self._service
            self._asked = (policy, os.environ["HOME"])
        text = json.dumps(body)  # with escapes: a case may hold what has no form in UTF-8
        return self._client.post(address, content=text, headers={"Content-Type": "application/json"})


@cache
def _server() -> _Server:
    return _Server()


def asked_over_rest(policy: Path, body: Mapping[str, Any], address: str = "/api/check") -> Any:
    """The answer of the REST door, to a check where nothing else is said, over the policy in this file."""
    return _server().ask(policy, body, address)


DOORS: dict[str, type[Door]] = {"library": LibraryDoor, "command line": CommandLineDoor, "REST": RestDoor}
