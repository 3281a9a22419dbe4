"""`stanch replay` as a person and a script meet it: options, streams, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from stanch.surfaces.cli.main import app
from tests.replay.recorded import DATA, TOOLS, lines, write

CLAUDE = str(DATA / "claude-code-basic.jsonl")
DENY_ALL = (
    'version = 1\nworkspace = "/repo/app"\n[[groups]]\nid = "default"\n[[groups.rules]]\ntool = "*"\naction = "deny"\n'
)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test starts in an empty directory, so that no policy lies about."""
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["replay", *words])


def test_files_that_can_be_read_exit_0_whatever_the_answers(tmp_path: Path) -> None:
    (tmp_path / "deny.toml").write_text(DENY_ALL, "utf-8")
    done = run(CLAUDE, "--policy", str(tmp_path / "deny.toml"))
    assert done.exit_code == 0
    assert "17 calls: 0 allowed, 0 asked, 17 denied. A person would have been asked 0 questions." in done.stdout
    assert not done.stderr


def test_json_is_one_document(tmp_path: Path) -> None:
    for names in (
        [CLAUDE],
        [str(DATA / name) for name in TOOLS],
        [str(write(tmp_path / "s", lines("codex-v50.jsonl")[:1]))],
    ):
        done = run(*names, "--json")
        assert done.exit_code == 0
        assert done.stdout.isascii()
        value = json.loads(done.stdout)
        assert len(value["calls"]) == value["summary"]["calls"]


@pytest.mark.parametrize("also", [[], ["--json"], ["--html", "out.html"]])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gone.jsonl"], "gone.jsonl cannot be read: no such file"),
        ([CLAUDE, str(DATA / "codex-v50.meta.toml")], "codex-v50.meta.toml:1: this is not JSON"),
        ([CLAUDE, "--policy", "gone.toml"], "gone.toml"),
        ([CLAUDE, "--context", "{"], "--context"),
        ([CLAUDE, "--context", '{"allow_fs_write": []}'], "unknown key 'allow_fs_write'"),
        ([CLAUDE, "--context", "[]"], "--context"),
        ([CLAUDE, "--cwd", ""], "--cwd is empty"),
        ([CLAUDE, "--source", "fax"], "fax"),
        ([CLAUDE, "--sample"], "not both"),
        ([], "at least one session file"),
        (["."], "no .jsonl file"),
    ],
)
def test_a_mistake_exits_2_with_nothing_on_standard_output(words: list[str], said: str, also: list[str]) -> None:
    done = run(*words, *also)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not Path("out.html").exists()


@pytest.mark.parametrize("also", [[], ["--json"]])
def test_every_file_that_is_no_session_is_named(also: list[str]) -> None:
    Path("odd.txt").write_text("no JSON\n", "utf-8")
    done = run("odd.txt", CLAUDE, "gone.jsonl", *also)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "odd.txt:1: this is not JSON" in done.stderr
    assert "gone.jsonl cannot be read: no such file" in done.stderr


def test_a_workspace_that_is_not_on_this_machine_is_nothing_to_warn_of() -> None:
    Path("stanch.toml").write_text('version = 1\nworkspace = "/nowhere/at/all"\n', "utf-8")
    assert not run(CLAUDE).stderr


def test_the_policy_used_is_named_and_found() -> None:
    assert "Policy: built-in rules, workspace /repo/app" in run(CLAUDE).stdout
    Path("stanch.toml").write_text(DENY_ALL, "utf-8")
    done = run(CLAUDE)
    assert "Policy: stanch.toml, workspace /repo/app" in done.stdout
    assert "17 denied" in done.stdout


def test_a_policy_with_a_mistake_is_told_of_and_refuses_everything() -> None:
    Path("stanch.toml").write_text(DENY_ALL + "agnet = 'x'\n", "utf-8")
    done = run(CLAUDE, "--json")
    assert json.loads(done.stdout)["summary"]["deny"] == 17
    assert "stanch.toml:8: unknown key 'agnet'" in done.stderr


def test_cwd_stands_in_where_a_file_names_no_directory(tmp_path: Path) -> None:
    where = [
        call["cwd"]
        for call in json.loads(run(str(DATA / "openai-chat.json"), "--cwd", "/repo/app", "--json").stdout)["calls"]
    ]
    assert where == ["/repo/app"] * 8 + ["/repo/app/docs"]
    own = [call["cwd"] for call in json.loads(run(CLAUDE, "--cwd", "/elsewhere", "--json").stdout)["calls"]]
    assert own == ["/repo/app"] * 11 + ["/repo/app/docs"] * 6
    bare = [call["cwd"] for call in json.loads(run(str(DATA / "openai-chat.json"), "--json").stdout)["calls"]]
    assert bare[0] == str((tmp_path / "empty").resolve())


def test_group_and_context_reach_the_gate() -> None:
    asked = json.loads(run(CLAUDE, "--group", "nobody", "--json").stdout)
    assert "group_missing" in {call["reason"]["code"] for call in asked["calls"]}
    context = json.dumps({"allow_fs_writes": ["/repo/app/src"]})
    edits = [c for c in json.loads(run(CLAUDE, "--context", context, "--json").stdout)["calls"] if c["tool"] == "Edit"]
    assert [(edit["effect"], edit["effects"][1]["reason"]["code"]) for edit in edits] == [("allow", "write_grant")]


def test_a_directory_gives_every_session_below_it_and_warns_of_the_rest(tmp_path: Path) -> None:
    below = tmp_path / "projects" / "app"
    below.mkdir(parents=True)
    (below / "one.jsonl").write_bytes(Path(CLAUDE).read_bytes())
    (below / "two.jsonl").write_bytes((DATA / "codex-v50.jsonl").read_bytes())
    (below / "three.jsonl").write_text('{"display": "/help"}\n', "utf-8")
    done = run(str(tmp_path / "projects"), "--json")
    assert done.exit_code == 0
    value = json.loads(done.stdout)
    assert [file["calls"] for file in value["files"]] == [17, 6]
    assert [Path(one["file"]).name for one in value["warnings"]] == ["three.jsonl"]
    assert "three.jsonl" in done.stderr


def test_warnings_stand_on_standard_error_and_in_the_json() -> None:
    cut = write(Path("s.jsonl"), [*lines("codex-v79.jsonl"), '{"timestamp": "2026'])
    done = run(str(cut), "--json")
    assert json.loads(done.stdout)["warnings"] == [
        {"file": "s.jsonl", "line": 38, "message": "this line is not JSON and was not read"}
    ]
    assert "stanch: note: s.jsonl:38:" in done.stderr


def test_the_page_is_written_whole_and_no_session_is_overwritten() -> None:
    done = run(CLAUDE, "--html", "out.html")
    assert done.exit_code == 0
    text = Path("out.html").read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert text.rstrip().endswith("</html>")
    assert "17 calls: " in done.stdout
    assert [path.name for path in Path().iterdir()] == ["out.html"]
    own = write(Path("s.jsonl"), lines("codex-v50.jsonl"))
    before = own.read_bytes()
    assert run("s.jsonl", "--html", "./s.jsonl").exit_code == 2
    assert own.read_bytes() == before
    assert run(CLAUDE, "--html", "gone/out.html").exit_code == 2
    assert run(CLAUDE, "--html", ".").exit_code == 2


def test_the_sample_runs_anywhere_and_says_what_to_do_next() -> None:
    done = run("--sample")
    assert done.exit_code == 0
    assert "Policy: sample/stanch.toml, workspace /repo/app" in done.stdout
    assert "17 calls: 8 allowed, 5 asked, 4 denied. A person would have been asked 5 questions." in done.stdout
    nexts = [line.split()[:2] for line in done.stdout.splitlines() if line.startswith("  stanch ")]
    assert nexts == [["stanch", "replay"], ["stanch", "policy"], ["stanch", "check"]]
    assert not done.stderr
    value = json.loads(run("--sample", "--json").stdout)
    assert value["calls"][0]["where"] == "sample/claude-code.jsonl:20"
