"""`stanch judge`: verdicts and plans as a person and a script get them, with the exit codes of each."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import stanch as library
from stanch.app import loading
from stanch.app.service import Service
from stanch.explain.verdicts import verdict_json
from stanch.surfaces.http.application import application
from tests.cli.conftest import Stanch
from tests.http.served import BY, PERSON
from tests.stores.template import new_store

READ = ("judge", "--face", "attachment", "--read")
WRITE = ("judge", "--face", "memory", "--write")
PATHS = (
    "docs/a",
    "secrets/x",
    "docs/way-in/x",
    "data/b",
    "memory/m.md",
    "a\tb",
    "/etc/passwd",
    "../out",
    "stanch.toml",
)


def test_the_record_of_each_path_in_order(stanch: Stanch, project: Path) -> None:
    done = stanch(*READ, "--json", "docs/a", "secrets/x")
    first, second = done.json
    assert first == {"verdict": "no_objection", "judged": f"{project}/docs/a"}
    assert second.keys() == {"verdict", "layer", "message", "judged"}
    assert (second["verdict"], second["layer"], second["judged"]) == ("deny", "persisted_rules", f"{project}/secrets/x")
    assert (done.code, done.err) == (11, "")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((*READ, "docs/a"), 0),
        ((*READ, "docs/a", "secrets/x"), 11),
        ((*WRITE, "docs/a"), 10),
        ((*WRITE, "docs/a", "secrets/x"), 11),
        ((*WRITE, "memory/a.md"), 0),
        ((*READ, "--deadline-ms", "0", "docs/a"), 10),
        ((*READ, "--group", "gone", "docs/a"), 10),
    ],
)
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_the_exit_code_is_that_of_the_worst(
    stanch: Stanch, project: Path, words: tuple[str, ...], code: int, more: tuple[str, ...]
) -> None:
    done = stanch(*words, *more)
    assert (done.code, done.err) == (code, "")
    assert done.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("judge", "--read", "a"), "--face"),
        (("judge", "--face", "attachment", "a"), "--read and --write"),
        ((*READ, "--write", "a"), "--read and --write"),
        (READ, "name the files"),
        (("judge", "--face", "Attachment", "--read", "a"), "lower case letters"),
        (("judge", "--face", "a1", "--read", "a"), "lower case letters"),
        ((*READ, ""), "must name a file"),
        ((*READ, "--source", "fax", "a"), "--source"),
        ((*READ, "--context", "{", "a"), "--context"),
        ((*READ, "--deadline-ms", "-1", "a"), "deadline-ms"),
        ((*READ, "--plan", "x.json", "a"), "--plan takes neither"),
        (("judge", "--plan", "x.json"), "x.json cannot be read"),
        (("judge", "--plan", "-"), "standard input is no JSON"),
    ],
)
def test_a_mistake_is_told_on_standard_error_alone(
    stanch: Stanch, project: Path, words: tuple[str, ...], says: str
) -> None:
    for more in ((), ("--json",)):
        done = stanch(*words, *more, stdin="{")
        assert (done.code, done.out) == (2, "")
        assert says in done.err


def test_a_skill_is_told_to_be_none_where_there_is_none(stanch: Stanch, project: Path) -> None:
    done = stanch("judge", "--face", "a", "--read", "docs/a", "--skill", "nope")
    assert (done.code, done.err) == (2, "stanch: unknown skill 'nope' (there is none)\n")


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        ("[]", "one call at least"),
        ("7", "a plan is a list"),
        ('[{"arguments": {}}]', "call 1 of the plan: 'tool'"),
        ('[{"tool": "a"}, {"tool": "a", "args": {}}]', "call 2 of the plan has an unknown key 'args'"),
        ('[{"tool": "a", "arguments": []}]', "'arguments' must be an object"),
        ('[{"tool": "a", "args": {}}]', "unknown key 'args'"),
        ('[{"tool": "a", "cwd": 7}]', "'cwd'"),
        ("[7]", "no object"),
    ],
)
def test_what_is_no_plan(stanch: Stanch, project: Path, plan: str, says: str) -> None:
    done = stanch("judge", "--plan", "-", "--json", stdin=plan)
    assert (done.code, done.out) == (2, "")
    assert says in done.err


def test_a_plan_as_a_person_and_as_a_script_gets_it(stanch: Stanch, project: Path) -> None:
    calls = [
        {"tool": "read_file", "arguments": {"path": "docs/a"}},
        {"tool": "write_file", "arguments": {"path": "docs/b", "content": "x"}},
        {"tool": "read_file", "arguments": {"path": "docs/b"}},
        {"tool": "read_file", "arguments": {"path": "secrets/x"}},
    ]
    (project / "plan.json").write_text(json.dumps({"calls": calls}))
    done = stanch("judge", "--plan", "plan.json", "--json")
    assert [one["outcome"] for one in done.json] == ["passes", "asks", "passes", "refused"]
    assert [one["after"] for one in done.json] == [[], [], [1], []]
    assert done.code == 11
    shown = stanch("judge", "--plan", "plan.json")
    assert "may be otherwise after call 2" in shown.out.splitlines()[2]
    assert stanch("judge", "--plan", "-", stdin=json.dumps(calls[:2])).code == 10
    assert stanch("judge", "--plan", "-", stdin=json.dumps(calls[:1])).code == 0


def test_the_time_begins_when_the_files_are_judged(
    stanch: Stanch, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = time.time

    def slowly(*given: Any, **more: Any) -> Any:
        monkeypatch.setattr(time, "time", lambda: clock() + 60)  # as if reading the policy had taken a minute
        return engine_of(*given, **more)

    engine_of = loading.open_engine
    monkeypatch.setattr(loading, "open_engine", slowly)
    assert stanch(*READ, "--deadline-ms", "30000", "docs/a").code == 0


def test_a_deadline_may_lie_far_away(stanch: Stanch, project: Path) -> None:
    policy = (project / "stanch.toml").read_text("utf-8")
    (project / "stanch.toml").write_text(f'{policy}\n[caller_policy]\ncommand = ["/bin/cat"]\n', "utf-8")
    done = stanch(*READ, "--deadline-ms", "9" * 400, "--json", "docs/a")
    assert (done.code, done.json[0]["cause"]) == (10, "threw")


def test_nothing_invisible_reaches_the_terminal(stanch: Stanch, project: Path) -> None:
    assert "\\x1b" in stanch(*READ, "docs/\x1b[2J").out
    assert "\x1b" not in stanch(*READ, "docs/\x1b[2J").out


@pytest.mark.parametrize("access", ["read", "write"])
def test_the_library_says_the_same(stanch: Stanch, project: Path, access: str) -> None:
    done = stanch("judge", "--face", "attachment", f"--{access}", "--json", *PATHS)
    judge = library.Judge([library.open("stanch.toml").session()])
    probes = [library.Probe(library.Face(access), "attachment", path) for path in PATHS]
    assert done.json == [verdict_json(one) for one in judge.batch(probes)]
    assert len({one["verdict"] for one in done.json}) >= 2


def test_rest_says_what_the_command_line_says(stanch: Stanch, project: Path, tmp_path: Path) -> None:
    policy = (project / "stanch.toml").read_text("utf-8")
    skill = '[[skills]]\nid = "quiet"\n[[skills.rules]]\ntool = "*"\npath = "docs"\n'
    (project / "stanch.toml").write_text(f"{policy}\n{skill}", "utf-8")
    store = new_store(tmp_path / "judge.db")
    token = store.create_token(name="t", principal=PERSON, by=BY).secret
    service = Service.open(store=store, policy=project / "stanch.toml", workspace=None)
    client = TestClient(application(service), headers={"Authorization": f"Bearer {token}"})
    for access in ("read", "write"):
        about = {"face": "attachment", "access": access, "paths": list(PATHS)}
        words = ("judge", "--face", "attachment", f"--{access}", "--json", *PATHS)
        said = client.post("/api/judge", json=about).json()
        assert said == stanch(*words).json
        under = client.post("/api/judge", json={**about, "skills": ["quiet"]}).json()
        assert under == stanch(*words, "--skill", "quiet").json
        assert [one.get("layer") == "skill_rows" for one in (said[0], under[0])] == [False, True]
    plan = {"calls": [{"tool": "read_file", "arguments": {"path": "docs/a"}}]}
    for skills, outcome in (([], "passes"), (["quiet"], "refused")):
        (one,) = client.post("/api/judge/plan", json={**plan, "skills": skills}).json()
        assert one["outcome"] == outcome
    assert client.post("/api/judge/plan", json={**plan, "skills": ["nobody"]}).status_code == 422
    assert stanch(*READ, "--skill", "nobody", "docs/a").code == 2
    service.close()
    store.close()
