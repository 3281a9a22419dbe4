"""Rows of the policy table: a run's file, base64 in a run, `tools execute`. By REST, chat and command."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from stanch.app.tools import ToolResult
from tests.cli.conftest import Stanch, stanch
from tests.delivery.stage import CLEAN, LABEL, NAME, OTHERS, Stage, State, gate_off
from tests.http.served import COPILOT

__all__ = ["stanch"]
DATA = b"\x00\x01 a picture "


def run_with(stage: Stage, state: State, **more: Any) -> str:
    """The id of a run with a text, a picture that holds the same, an output, and a step."""
    text = stage.written(state)
    body: dict[str, Any] = {
        "name": "nightly",
        "steps": [{"tool": "elsewhere", "arguments": {"q": text}, "result": text, "logs": [text]}],
        "files": [
            {"name": "out/log.txt", "text": text},
            {"name": "pic.png", "media_type": "image/png", "base64": b64(stage, state)},
        ],
        **more,
    }
    return str(stage.write(state, "POST", "/api/runs", json=body, headers=of_picture(state)).json()["id"])


def of_picture(state: State) -> dict[str, str]:
    """Headers besides those of the state: a picture carries whatever was resolved, so here that is nothing."""
    return {"Stanch-Secrets": ""} if state is State.EMPTY else {}


def b64(stage: Stage, state: State) -> str:
    return base64.b64encode(DATA + stage.written(state).encode()).decode()


def run_naming(stage: Stage, state: State) -> str:
    """The id of a run whose output is clean, and names a file of that state."""
    body = {
        "name": "n",
        "output": {"pic": {"file": "pic.png"}},
        "steps": [{"tool": "elsewhere", "result": [{"file": "pic.png"}]}],
    }
    run = str(stage.write(State.UNRECORDED, "POST", "/api/runs", json=body).json()["id"])
    stage.write(
        state,
        "PUT",
        f"/api/runs/{run}/files/pic.png",
        content=base64.b64decode(b64(stage, state)),
        headers={"Content-Type": "image/png", **of_picture(state)},
    )
    return run


def words(stage: Stage, *more: str) -> tuple[str, ...]:
    """The words with which a command is the model's."""
    token = stage.client(COPILOT).headers["Authorization"].removeprefix("Bearer ")
    return ("--url", stage.url, "--token", token, "--session", stage.chat, *more)


# Run file download: U 403, E redacted, C delivered.


def test_run_file__unknown(stage: Stage, stanch: Stanch, tmp_path: Path) -> None:
    run = run_with(stage, State.UNKNOWN)
    for path in ("files/out/log.txt", "text/out/log.txt", "files/pic.png"):
        stage.assert_withheld(stage.ask("GET", f"/api/runs/{run}/{path}"), "content_unknown")
    told = stage.tool("runs_get", run=run, name="out/log.txt")
    assert "nobody can say" in told
    stage.assert_clean(told)
    place = tmp_path / "log.txt"
    ended = stanch("runs", "get", run, "out/log.txt", "-o", str(place), *words(stage))
    assert ended.code == 1
    assert not place.exists()


def test_run_file__entries(stage: Stage, stanch: Stanch, tmp_path: Path) -> None:
    run = run_with(stage, State.ENTRIES)
    expected = f"the key is {LABEL} and nothing else\n"
    assert stage.ask("GET", f"/api/runs/{run}/files/out/log.txt").text == expected
    assert stage.ask("GET", f"/api/runs/{run}/text/out/log.txt").json()["text"] == expected
    assert json.loads(stage.tool("runs_get", run=run, name="out/log.txt"))["text"] == expected
    # The window is one of the text before anything is taken out: no piece of the value is in any.
    for offset in range(0, 40, 3):
        part = stage.ask("GET", f"/api/runs/{run}/text/out/log.txt?offset={offset}&limit=7").json()["text"]
        assert not any(stage.value[at : at + 6] in part for at in range(len(stage.value) - 6)), offset
    place = tmp_path / "log.txt"
    assert stanch("runs", "get", run, "out/log.txt", "-o", str(place), *words(stage)).code == 0
    assert place.read_text("utf-8") == expected
    stage.assert_withheld(stage.ask("GET", f"/api/runs/{run}/files/pic.png"), "content_opaque")
    stage.assert_withheld(stage.ask("GET", f"/api/runs/{run}/text/pic.png"), "content_opaque")
    stage.assert_clean(stage.tool("runs_get", run=run, name="pic.png"))


@pytest.mark.parametrize("state", CLEAN)
def test_run_file__clean(stage: Stage, stanch: Stanch, tmp_path: Path, state: State) -> None:
    run, text = run_with(stage, state), stage.written(state)
    reply = stage.ask("GET", f"/api/runs/{run}/files/out/log.txt")
    assert (reply.text, reply.headers["content-type"].partition(";")[0]) == (text, "text/plain")
    assert stage.ask("GET", f"/api/runs/{run}/files/pic.png").content == DATA + text.encode()
    assert json.loads(stage.tool("runs_get", run=run, name="out/log.txt"))["text"] == text
    place = tmp_path / "pic.png"
    assert stanch("runs", "get", run, "pic.png", "-o", str(place), *words(stage)).code == 0
    assert place.read_bytes() == DATA + text.encode()


# Run read, execute, resume: base64.


def bodies(stage: Stage, run: str) -> list[Any]:
    """What the model is given of the run: by reading, by repeating, by going on, each with its files inlined."""
    stage.free()
    read = stage.ask("GET", f"/api/runs/{run}?base64=true")
    repeated = stage.ask("POST", f"/api/runs/{run}/execute", json={"base64": True})
    told = stage.tool("runs_read", run=run, base64=True)
    again = stage.tool("runs_execute", run=run, base64=True)
    asks = stage.chat_of("fake/scripted")
    waits = stage.post(f"/api/runs/{run}/execute", {"session": asks}, 200 + 1)
    assert waits["run"]["state"] == "paused"
    request = stage.get(f"/api/calls/{waits['steps'][0]['call_id']}")["request_id"]
    stage.post(f"/api/inbox/approvals/{request}/resolve", {"action": "approve"})
    stage.free(asks)
    resumed = stage.ask("POST", f"/api/runs/{waits['run']['id']}/resume", session=asks, json={"base64": True})
    assert (read.status_code, repeated.status_code, resumed.status_code) == (200, 201, 200), resumed.text
    found = [read.json(), repeated.json(), resumed.json(), json.loads(told), json.loads(again)]
    for one in found:
        assert one["run"]["state"] in ("recorded", "completed"), one
    return found


@pytest.mark.parametrize(("state", "code"), [(State.UNKNOWN, "content_unknown"), (State.ENTRIES, "content_opaque")])
def test_run_base64__unknown_and_entries(stage: Stage, state: State, code: str) -> None:
    run = run_naming(stage, state)
    size = len(DATA) + len(stage.written(state))
    described = {"file": "pic.png", "media_type": "image/png", "size": size}
    for found in bodies(stage, run):
        assert found["values"]["output"] == {"pic": described}
        assert found["steps"][0]["values"]["result"] == [described]
        assert [(one["file"], one["code"]) for one in found["not_inlined"]] == [("pic.png", code)]
        assert found["files"] == [described]
        stage.assert_clean(json.dumps(found))


@pytest.mark.parametrize("state", CLEAN)
def test_run_base64__clean(stage: Stage, state: State) -> None:
    run = run_naming(stage, state)
    for found in bodies(stage, run):
        pic = found["values"]["output"]["pic"]
        assert base64.b64decode(pic["base64"]) == DATA + stage.written(state).encode()
        assert found["not_inlined"] == []


@pytest.mark.parametrize("state", [State.ENTRIES, *CLEAN])
def test_run_base64__of_a_run_that_nobody_waited_for(stage: Stage, state: State) -> None:
    run = run_with(stage, state, output={"file": "pic.png"}, synchronous=False)
    for ask in (stage.ask, stage.send):
        found = ask("GET", f"/api/runs/{run}?base64=true").json()
        assert "base64" not in found["values"]["output"]
        assert [one["code"] for one in found["not_inlined"]] == ["asynchronous"]


def test_run_base64__on_demand_alone(stage: Stage) -> None:
    found = stage.ask("GET", f"/api/runs/{run_naming(stage, State.EMPTY)}").json()
    assert "base64" not in json.dumps(found)


def test_a_file_of_a_withheld_output_is_still_described(stage: Stage) -> None:
    run = run_with(stage, State.UNKNOWN, output={"file": "pic.png"})
    found = stage.ask("GET", f"/api/runs/{run}?base64=true").json()
    assert found["values"] == {}
    assert [one["file"] for one in found["files"]] == ["out/log.txt", "pic.png"]


# Values of runs, each an item of its own.


def test_run_values(stage: Stage, stanch: Stanch) -> None:
    for state in State:
        run = run_with(stage, state, output=stage.written(state))
        reply = stage.ask("GET", f"/api/runs/{run}")
        stage.assert_clean(reply)
        found = reply.json()
        told = json.loads(stage.tool("runs_read", run=run))
        ended = stanch("runs", "read", run, "--json", *words(stage))
        assert ended.code == 0
        assert {**ended.json} == found == told
        step = found["steps"][0]
        if state is State.UNKNOWN:
            assert (found["values"], step["values"], found["withheld_total"]) == ({}, {}, 4)
            assert {one["cause"] for one in (*found["withheld"], *step["withheld"])} == {"incomplete"}
        else:
            expected = stage.written(state).replace(stage.value, LABEL)
            assert step["values"] == {"arguments": {"q": expected}, "result": expected, "logs": [expected]}
            assert found["values"] == {"output": expected}


def test_a_part_that_is_withheld_is_filled_from_nowhere(stage: Stage) -> None:
    run = run_with(stage, State.ENTRIES, output=stage.written(State.ENTRIES))
    stage.rows(f"UPDATE run_values SET provenance = 's1.x' WHERE id = '{run}.1.result'")
    step = stage.ask("GET", f"/api/runs/{run}?parts=result&parts=output").json()["steps"][0]
    assert (step["values"], [one["part"] for one in step["withheld"]]) == ({}, ["result"])


def test_everybody_else_gets_the_same_bytes_and_nothing_is_read_of_provenance(stage: Stage) -> None:
    runs = [run_with(stage, state, output={"file": "pic.png"}) for state in State]
    rests = ("?base64=true", "/files", "/files/out/log.txt", "/text/out/log.txt", "/files/pic.png")
    paths = [f"/api/runs/{run}{rest}" for run in runs for rest in rests]
    for path in ("/api/runs", *paths):
        before = stage.reads
        found = {stage.send("GET", path, who).content for who in OTHERS}
        assert len(found) == 1, path
        assert stage.reads == before, path
        with gate_off():
            assert stage.send("GET", path).content in found


def test_a_tier_closes_what_came_from_a_place_that_it_closes(stage: Stage) -> None:
    private = stage.workspace / "private"
    private.mkdir()
    (private / "plan.txt").write_text("the plan", "utf-8")
    body = {"name": "n", "steps": [{"tool": "read_file", "arguments": {"path": "private/plan.txt"}}]}
    run = stage.write(State.UNRECORDED, "POST", "/api/runs", json=body).json()["id"]
    session = stage.chat_of("fake/scripted")
    stage.free(session)
    made = stage.post(f"/api/runs/{run}/execute", {"session": session}, 201)
    assert made["steps"][0]["values"]["result"] == "the plan"
    curious = stage.chat_of("cloud/scripted")
    step = stage.ask("GET", f"/api/runs/{made['run']['id']}", session=curious).json()["steps"][0]
    assert [(one["part"], one["code"]) for one in step["withheld"]] == [("result", "content_tier")]
    assert "the plan" in stage.ask("GET", f"/api/runs/{made['run']['id']}").text


# tools execute: U withheld and not retried, E masked by name, C returned.


def given(stage: Stage, state: State) -> list[int]:
    """A tool of the program's own whose result is of that state; returns how often it ran."""
    ran: list[int] = []

    def look_up(_: Any) -> Any:
        ran.append(1)
        text = stage.written(state)
        if state is State.UNRECORDED:
            return text
        return ToolResult({"text": text}, secrets=(NAME,), complete=state is not State.UNKNOWN)

    stage.service.tools.add("look_up", look_up)
    stage.free()
    return ran


def test_tools_execute__unknown(stage: Stage, stanch: Stanch) -> None:
    ran = given(stage, State.UNKNOWN)
    stage.assert_withheld(stage.ask("POST", "/api/tools/look_up/execute", json={}), "content_unknown")
    assert len(ran) == 1, "it is not run again by itself"
    stage.assert_clean(stage.tool("tools_execute", tool="look_up"))
    ended = stanch("tools", "execute", "look_up", *words(stage))
    assert ended.code == 1
    stage.assert_clean(ended.out + ended.err)
    assert len(ran) == 3
    states = [one["state"] for one in stage.get(f"/api/sessions/{stage.chat}/calls")["items"]]
    assert states == ["completed", "completed"], "it ran, whatever became of its result"


def test_tools_execute__entries(stage: Stage, stanch: Stanch) -> None:
    given(stage, State.ENTRIES)
    found = stage.ask("POST", "/api/tools/look_up/execute", json={}).json()
    assert found["value"] == {"text": f"the key is {LABEL} and nothing else\n"}
    assert json.loads(stage.tool("tools_execute", tool="look_up"))["value"] == found["value"]
    assert stanch("tools", "execute", "look_up", "--json", *words(stage)).json["value"] == found["value"]


@pytest.mark.parametrize("state", CLEAN)
def test_tools_execute__clean(stage: Stage, stanch: Stanch, state: State) -> None:
    given(stage, state)
    found = stage.ask("POST", "/api/tools/look_up/execute", json={}).json()
    assert stage.written(state) in (found["value"], found["value"]["text"] if isinstance(found["value"], dict) else "")
    assert json.loads(stage.tool("tools_execute", tool="look_up"))["value"] == found["value"]
    assert stanch("tools", "execute", "look_up", "--json", *words(stage)).json["value"] == found["value"]


def test_tools_execute__a_secret_in_a_command(stage: Stage) -> None:
    stage.free()
    body = {"arguments": {"command": f"printf %s ${NAME}; printf %s ${NAME} | base64"}, "secrets": [NAME]}
    reply = stage.ask("POST", "/api/tools/execute_cmd/execute", json=body)
    assert reply.status_code == 200, reply.text
    stage.assert_clean(reply)
    assert reply.json()["value"].startswith(LABEL)
    # A person sees what it printed.
    session = stage.chat_of("fake/scripted")
    stage.free(session)
    seen = stage.post("/api/tools/execute_cmd/execute", {**body, "session": session})
    assert seen["value"].startswith(stage.value)


def test_tools_execute__an_output_that_was_cut_with_a_secret_near(stage: Stage) -> None:
    stage.free()
    command = f"for i in $(seq 20000); do printf %s ${NAME}; done"
    body: dict[str, Any] = {"arguments": {"command": command}, "secrets": [NAME]}
    stage.assert_withheld(stage.ask("POST", "/api/tools/execute_cmd/execute", json=body), "content_unknown")
