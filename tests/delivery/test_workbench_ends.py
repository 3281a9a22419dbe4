"""How a run ends, in a sandbox that does what the test says: cut off, broken, without its store, without its key."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from stanch.app.workbench_running import LIBRARY, RunCode
from stanch.app.workbench_tool import run_code_tool
from stanch.runtime.sandbox.program import Ended, How, Limits, Program, Sandbox, Unavailable
from stanch.runtime.tool import Job, Output
from stanch.secrets.sealing import Key, KeyRing
from stanch.values.message import Origin, SourceTag
from tests.delivery.benching import all_kinds, excluded, put
from tests.delivery.stage import LABEL, MODEL, Stage, State

Does = Callable[[Program, Callable[[bytes], None]], Ended]
DONE = Ended(How.BY_ITSELF, 0, "It ended with exit code 0.")
LIMITS = Limits(output_bytes=2_000)


class Scripted:
    """A sandbox that does what it is told."""

    name = "scripted"

    def __init__(self, does: Does) -> None:
        self.does, self.programs = does, list[Program]()

    def run(self, program: Program, out: Callable[[bytes], None], cancelled: threading.Event) -> Ended:
        self.programs.append(program)
        return self.does(program, out)


class Bench:
    """The tool of a chat, without the chat."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.chat = stage, stage.chat_of(MODEL)
        self.sandbox: Sandbox | Unavailable = Scripted(lambda _, __: DONE)
        service = stage.service
        run = RunCode(
            service.content,
            service.workbenches,
            lambda session: stage.store.get_session(session).principal,
            sandbox=lambda: self.sandbox,
            snippet=self._snippet,
        )
        self.tool, self.snippets = run_code_tool(run, LIMITS), list[str]()

    def _snippet(self, code: str, functions: Any, out: Callable[[str], None], **_: Any) -> Ended:
        self.snippets.append(code)
        out(repr(functions["files_get"]("e.txt")))
        return DONE

    def __call__(self, *mounts: str, does: Does | None = None, **more: Any) -> Output:
        if does is not None:
            self.sandbox = Scripted(does)
        arguments = {"code": "1", **({"mounts": list(mounts)} if mounts else {}), **more}
        job = Job(
            "run_code", arguments, {}, "/", lambda _: None, threading.Event(), session_id=self.chat, call_id="call_1"
        )
        output = self.tool.run(job)
        self.stage.assert_clean(output.text)
        return output


@pytest.fixture
def bench(stage: Stage) -> Bench:
    """One that prints nothing."""
    all_kinds(stage)
    return Bench(stage)


def prints(*pieces: bytes, ended: Ended = DONE) -> Does:
    def does(_: Program, out: Callable[[bytes], None]) -> Ended:
        for piece in pieces:
            out(piece)
        return ended

    return does


def test_it_is_told_what_it_may_do(bench: Bench) -> None:
    def does(program: Program, out: Callable[[bytes], None]) -> Ended:
        assert program.socket is not None
        assert program.socket.is_socket()
        assert (program.library, program.directory.name) == (LIBRARY, "files")
        assert program.argv == ("python3", "-u", "-c", "1")
        assert program.limits.seconds == 7
        out((program.directory / "c.txt").read_bytes())
        return DONE

    output = bench("c.txt", does=does, timeout=7)
    assert output.text == "the key is nowhere and nothing else\n[It ended with exit code 0.]"
    assert output.tags == (SourceTag(str(bench.stage.workspace / "c.txt"), Origin.PATH),)
    assert not output.failed


def test_what_comes_in_pieces_is_one_text(bench: Bench, stage: Stage) -> None:
    data = f"ä {stage.value} ö".encode()
    for cut in range(1, len(data)):
        output = (
            bench("e.txt", does=prints(data[:cut], data[cut:]))
            if cut == 1
            else bench(does=prints(data[:cut], data[cut:]))
        )
        assert output.text.startswith(f"ä {LABEL} ö\n")
    assert bench(does=prints(b"\xff\x00", data)).text.startswith(f"\ufffd\ufffdä {LABEL} ö")


@pytest.mark.parametrize("how", [how for how in How if how is not How.BY_ITSELF])
def test_what_was_stopped_does_not_end_in_half_a_secret(bench: Bench, stage: Stage, how: How) -> None:
    bench("e.txt")
    ended = Ended(how, -9, "It was ended at its limit.")
    output = bench(does=prints(b"so: ", stage.value[:14].encode(), ended=ended))
    assert output.text.startswith("so: {{")
    assert stage.value[:8] not in output.text
    assert output.failed
    assert output.text.endswith("\n[It was ended at its limit.]")
    # Of a longer output than the limit, whatever the sandbox says of it.
    output = bench(does=prints(b"x" * (LIMITS.output_bytes - 14), stage.value.encode()))
    assert stage.value[:8] not in output.text


def test_without_a_sandbox_nothing_runs_but_snippets(bench: Bench) -> None:
    bench.sandbox = Unavailable(("bubblewrap is not installed.", "Landlock is off."))
    output = bench()
    assert output.failed
    assert "bubblewrap is not installed. Landlock is off. Have bubblewrap installed" in output.text
    assert bench(language="snippet").text.startswith(f"b'the key is {LABEL}")
    assert bench.snippets == ["1"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"code": ""},
        {"code": "x" * 100_001},
        {"code": "ä" * 60_000},
        {"code": "a\0b"},
        {"language": "ruby"},
        {"timeout": 0},
        {"timeout": 601},
        {"timeout": True, "shell": 1},
        {"mounts": "c.txt"},
        {"mounts": ["c.txt"], "language": "snippet"},
        {"mounts": [f"f{number}" for number in range(201)]},
    ],
)
def test_arguments_that_cannot_be_used_run_nothing(bench: Bench, arguments: dict[str, Any]) -> None:
    ran = Scripted(lambda _, __: DONE)
    bench.sandbox = ran
    assert bench(**arguments).failed
    assert (len(ran.programs), len(bench.snippets)) == (0, 0)


def test_of_two_at_once_one_is_told_to_wait(bench: Bench, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage.service.workbenches, "_patience", 0.1)
    inner: list[Output] = []

    def does(_: Program, __: Callable[[bytes], None]) -> Ended:
        before = bench.sandbox
        inner.append(bench(does=prints(b"second")))
        bench.sandbox = before
        assert stage.send("DELETE", f"/api/sessions/{bench.chat}/workbench").status_code == 409
        return DONE

    assert not bench(does=does).failed
    assert "another call works in this workbench" in inner[0].text
    assert inner[0].failed


def test_a_sandbox_that_breaks_leaves_what_is_known(bench: Bench, stage: Stage) -> None:
    def breaks(program: Program, out: Callable[[bytes], None]) -> Ended:
        (program.directory / "made").write_text("x")
        out(stage.value.encode())
        raise RuntimeError(stage.value)

    put(stage, State.UNKNOWN, "u.txt")
    fetched = stage.ask(
        "POST", f"/api/sessions/{bench.chat}/workbench/files", session=bench.chat, json={"path": "u.txt"}
    )
    assert fetched.status_code == 403
    with pytest.raises(RuntimeError):
        bench(does=breaks)
    shown = stage.get(f"/api/sessions/{bench.chat}/workbench")
    assert {one["path"]: one["tainted"] for one in shown["entries"]} == {"made": True, "u.txt": True}
    assert bench(does=prints(b"x")).text.startswith("Withheld because the workbench holds")


@pytest.mark.parametrize("tainted", [False, True])
def test_nothing_is_told_when_the_database_goes_in_the_middle(bench: Bench, stage: Stage, tainted: bool) -> None:
    bench("e.txt")
    if tainted:
        stage.ask("POST", f"/api/sessions/{bench.chat}/workbench/files", session=bench.chat, json={"path": "u.txt"})

    def does(_: Program, out: Callable[[bytes], None]) -> Ended:
        out(b"it is so: " + stage.value.encode())
        stage.store.close()
        return DONE

    output = bench(does=does)
    assert output.failed
    assert "it is so" not in output.text
    assert "cannot be used" in output.text


def test_nothing_is_told_when_the_vaults_key_goes(bench: Bench, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    bench("e.txt")

    def does(_: Program, out: Callable[[bytes], None]) -> Ended:
        out(b"it is so: " + stage.value.encode())
        monkeypatch.setattr(stage.service.vault._opening, "ring", KeyRing([Key(b"9" * 32)]))
        monkeypatch.setattr(stage.service.projecting, "_made", None)
        return DONE

    output = bench(does=does)
    assert "it is so" not in output.text
    assert output.failed
    # And with another key nobody knows what came near: nothing runs.
    ran = Scripted(prints(b"ran"))
    bench.sandbox = ran
    output = bench()
    assert ran.programs == []
    assert output.failed


def test_a_receipt_names_what_was_mounted_and_what_was_refused(bench: Bench, stage: Stage) -> None:
    bench("e.txt", "c.txt", does=prints(stage.value.encode()))
    assert excluded(bench("u.txt").text) == {"u.txt": "content_unknown"}
    rows = stage.get("/api/audit?limit=200")["items"]
    said = [row["detail"] for row in rows if row["action"] == "content.delivered"]
    found = {
        item["path"]: item["verdict"]
        for detail in said
        for item in detail["items"]
        if detail["operation"] == "run_code"
    }
    root = str(stage.workspace)
    assert {path.removeprefix(f"{root}/"): verdict for path, verdict in found.items()} == {
        "e.txt": "admitted",
        "c.txt": "admitted",
        "u.txt": "content_unknown",
    }
    assert any(detail["redacted"] == ["PAY_KEY"] for detail in said)
    assert stage.value not in json.dumps(rows)
