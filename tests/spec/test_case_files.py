"""Is a case file that cannot be meant as it stands refused, with its file and line?"""

from __future__ import annotations

from pathlib import Path

import pytest

from stanch.app.case_files import read_cases
from stanch.app.case_places import Place
from stanch.app.case_records import Judge
from stanch.app.case_runner import LibraryDoor, run_case
from stanch.values.fault import BadInput

CALL = "call: {tool: read_file, args: {path: a}}"
WAITS = "cases:\n  - it: x\n    calls: ["
ASKED = "cases:\n  - it: x\n    calls:\n      - {ask: a, tool: b, expect: pending}\n"


def read(folder: Path, text: str) -> Path:
    path = folder / "table.yaml"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("cases:\n  - it: x\n    call: {tool: a}\n    expected: deny\n", 4, "did you mean 'expect'?"),
        ("cases:\n  - it: x\n    call: {tool: a}\n    becuase: rule 1\n", 4, "did you mean 'because'?"),
        (f"cases:\n  - it: x\n    {CALL}\n", 2, "either 'expect' or 'fault'"),
        (f"cases:\n  - it: x\n    {CALL}\n    expect: ask\n    fault: y\n", 2, "either 'expect' or 'fault'"),
        (f"cases:\n  - it: x\n    {CALL}\n    expect: block\n", 4, "must be allow, ask or deny"),
        (f"cases:\n  - it: x\n    {CALL}\n    expect: ask\n    because: rule one\n", 5, "no reason code"),
        (f"cases:\n  - it: x\n    {CALL}\n    expect: ask\n    because: no_mach\n", 5, "no reason code"),
        (f"cases:\n  - it: x\n    {CALL}\n    expect: ask\n    because: layer hook\n", 5, "no reason code"),
        (f"cases:\n  - it: x\n    {CALL}\n    expect: ask\n    says: [1]\n", 5, "a list of texts"),
        (f"cases:\n  - {CALL}\n    expect: ask\n", 2, "'it' is missing"),
        ("cases:\n  - it: x\n    expect: ask\n", 2, "this one has 0"),
        (f"cases:\n  - it: x\n    {CALL}\n    load: {{}}\n    expect: ask\n", 2, "this one has 2"),
        (f"cases:\n  - it: x\n    {CALL}\n    expect: ask\n  - it: x\n    {CALL}\n    expect: ask\n", 5, "two cases"),
        (f"cases:\n  - it: x\n    it: y\n    {CALL}\n    expect: ask\n", 3, "stands twice"),
        ("given: {polcy: stanch.toml}\ncases: []\n", 1, "did you mean 'policy'?"),
        ("given:\n  policy: x.toml\n  rules: []\ncases: []\n", 2, "'policy' is a whole policy"),
        ("given:\n  files: {a: 1}\ncases: []\n", 2, "must hold texts only"),
        ("cases: []\n", 1, "missing or empty"),
        ("cases: {it: x}\n", 1, "must be a list of tables"),
        ("cases:\n  - x\n", 1, "must be a list of tables"),
        ("- it: x\n", 1, "a case file is a table"),
        ("cases:\n  - it: [x\n", 3, "this is not YAML"),
        ("cases:\n  - it: !!python/object:os.system {}\n", 2, "this is not YAML"),
        ("cases:\n  - 1: x\n", 2, "a key that is no text"),
        ("cases:\n  - it: {times: 99999999, text: xxxxxxxx}\n", 2, "this is not YAML"),
        ("cases:\n  - it: x\n    steps: [{jugde: {tool: a}}]\n", 3, "a step has one of"),
        ("cases:\n  - it: x\n    grant: {text: /a, access: run}\n", 3, "read or write"),
        ("cases:\n  - it: x\n    calls: []\n", 3, "must be a list of steps"),
        (f"{WAITS}{{aks: a}}]\n", 3, "begins with one of ask, answer"),
        (f"{WAITS}{{ask: a, expect: pending}}]\n", 3, "'tool' is missing"),
        (f"{WAITS}{{ask: 1, tool: b, expect: pending}}]\n", 3, "'ask' must be a name"),
        (f"{WAITS}{{ask: a, tool: b, arg: {{}}, expect: pending}}]\n", 3, "did you mean 'args'?"),
        (f"{WAITS}{{ask: a, tool: b, args: c, expect: pending}}]\n", 3, "'args' must be a table"),
        (f"{WAITS}{{ask: a, tool: b}}]\n", 3, "'expect' is missing"),
        (f"{WAITS}{{ask: a, tool: b, expect: ask}}]\n", 3, "'ask' expects one of pending, awaiting_approval"),
        (f"{WAITS}{{ask: a, tool: b, expect: pending, because: no_mach}}]\n", 3, "no reason code"),
        (f"{WAITS}{{start: a, expect: running}}]\n", 3, "asks for a call named 'a'"),
        (f"{ASKED}      - {{ask: a, tool: b, expect: pending}}\n", 5, "two calls are named 'a'"),
        (f"{ASKED}      - {{answer: a, do: yes, expect: pending}}\n", 5, "must be a text, got bool"),
        (f"{ASKED}      - {{answer: a, do: 'yes', expect: pending}}\n", 5, "must be one of approve, reject"),
        (f"{ASKED}      - {{answer: a, expect: pending}}\n", 5, "'do' is missing"),
        (f"{ASKED}      - {{answer: a, do: approve, bypass_secs: long, expect: pending}}\n", 5, "a number of seconds"),
        (f"{ASKED}      - {{finish: a, how: stop, expect: failed}}\n", 5, "must be one of complete, fail, cancel"),
        (f"{ASKED}      - {{finish: a, expect: pending}}\n", 5, "'finish' expects one of"),
        (f"{ASKED}      - {{wait: long}}\n", 5, "'wait' must be a number of seconds"),
        (f"{ASKED}      - {{wait: -1}}\n", 5, "'wait' must be a number of seconds"),
        (f"{ASKED}      - {{restart: false}}\n", 5, "'restart' must be true"),
        (f"cases:\n  - it: x\n    given: {{open_sessions: {{}}}}\n    {CALL}\n    expect: ask\n", 3, "with 'calls'"),
        (f"{ASKED}      - {{restart: true, expect: pending}}\n", 5, "unknown key 'expect'"),
        (f"{ASKED}      - {{change: {{file: {{}}}}}}\n", 5, "did you mean 'files'?"),
        (f"{ASKED}      - {{inbox: [b]}}\n", 5, "asks for a call named 'b'"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, line: int, words: str, tmp_path: Path) -> None:
    path = read(tmp_path, text)
    with pytest.raises(BadInput) as caught:
        read_cases(path)
    said = str(caught.value)
    assert said.startswith(f"{path}:{line}: "), said
    assert words in said


def test_a_case_adds_to_what_the_file_gives_and_replaces_its_rules(tmp_path: Path) -> None:
    text = f"""
given: {{rules: [{{tool: "*", action: ask}}], agent: a, files: [x]}}
cases:
  - it: one
    given: {{groups: {{default: []}}, agent: b}}
    {CALL}
    expect: ask
"""
    given = read_cases(read(tmp_path, text)).cases[0].given
    assert set(given) == {"groups", "agent", "files"}
    assert given["agent"] == "b"


def test_a_text_can_be_repeated(tmp_path: Path) -> None:
    text = "cases:\n  - it: x\n    call: {tool: a, args: {path: {times: 3, text: ab}}}\n    expect: ask\n"
    act = read_cases(read(tmp_path, text)).cases[0].acts[0]
    assert isinstance(act, Judge)
    assert act.args == {"path": "ababab"}


@pytest.mark.parametrize(
    ("written", "below"),
    [
        ("/repo/a", "ROOT/repo/a"),
        ("see /srv/x, /data/y", "see ROOT/srv/x, ROOT/data/y"),
        ('path = "/**/secrets"', 'path = "ROOT/**/secrets"'),
        ("/", "ROOT/"),
        ("file:///repo/a", "file://ROOT/repo/a"),
        ("file:/repo/a", "file:ROOT/repo/a"),
        ("/proc/self/root", "/proc/self/root"),
        ("/process", "ROOT/process"),
        ("https://example.com/repo/a", "https://example.com/repo/a"),
        ("a/repo ./repo ~/repo **/repo", "a/repo ./repo ~/repo **/repo"),
        ("1 / 2", "1 / 2"),
    ],
)
def test_absolute_paths_are_put_below_the_root(written: str, below: str, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    case = read_cases(read(tmp_path, f"cases:\n  - it: x\n    {CALL}\n    expect: ask\n")).cases[0]
    place = Place(tmp_path / "root", case)
    assert place.mapped(written) == below.replace("ROOT", str(place.root))
    assert place.shown(place.mapped(written)) == written


HOLDS = """
given: {rules: [{tool: "@read", action: deny, note: mine}], files: {a.txt: x}}
cases:
  - it: x
    call: {tool: read_file, args: {path: a.txt}}
    expect: deny
    because: rule 1 of default
    about: /repo/a.txt
    at: stanch.toml:4
    says: [mine, a.txt]
    hides: [yours]
    mandated: false
"""
LOADS = """
given: {rules: [{tool: "*"}]}
cases:
  - it: x
    load: {problems: [{line: 4, says: "'action' is missing"}]}
"""
STEPS = """
given: {rules: [{tool: "*", action: allow}], files: {a.txt: x}}
cases:
  - it: x
    steps:
      - judge: {tool: write_file, args: {path: a.txt}}
        expect: allow
      - change: {remove: a.txt, symlinks: {a.txt: b.txt}}
      - open: write
        because: target_changed
      - change: {remove: a.txt, files: {a.txt: y}}
      - open: read
      - holds: {a.txt: y}
"""
FAULTY = """
cases:
  - it: x
    call: {tool: read_file}
    fault: needs the argument
    because: call_unreadable
"""
WAITING = """
given: {rules: [{tool: "*", action: ask}]}
cases:
  - it: x
    calls:
      - {ask: a, tool: write_file, args: {path: a.txt}, expect: awaiting_approval, because: rule 1, about: /repo/a.txt}
      - {inbox: [a]}
      - {shows: a, expect: open, says: [a.txt]}
      - {answer: a, do: approve, by: ben, expect: pending, because: approved, says: by ben}
      - {answer: a, do: reject, expect: conflict, says: by ben}
      - {start: a, expect: running}
      - {restart: true}
      - {stands: a, expect: interrupted, because: interrupted, hides: [ada]}
"""


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (HOLDS, "expect: deny", "expect: ask"),
        (HOLDS, "because: rule 1 of", "because: rule 2 of"),
        (HOLDS, "of default", "of jobs"),
        (HOLDS, "rule 1 of default", "no_match"),
        (HOLDS, "rule 1 of default", "rule by hooks"),
        (HOLDS, "rule 1 of default", "layer integrity"),
        (HOLDS, "about: /repo/a.txt", "about: /repo/b.txt"),
        (HOLDS, "stanch.toml:4", "stanch.toml:5"),
        (HOLDS, "[mine, a.txt]", "[mine, b.txt]"),
        (HOLDS, "[yours]", "[yours, mine]"),
        (HOLDS, "mandated: false", "mandated: true"),
        (HOLDS, "expect: deny", "fault: x"),
        (LOADS, "line: 4", "line: 3"),
        (LOADS, "is missing", "is there"),
        (LOADS, "[{line: 4, says: \"'action' is missing\"}]", "[]"),
        (LOADS, "says:", "warning: true, says:"),
        (LOADS, "}]}", "}, {says: more}]}"),
        (STEPS, "because: target_changed", "because: path_unreadable"),
        (STEPS, "\n        because: target_changed", ""),
        (STEPS, "- open: read", "- open: read\n        because: target_changed"),
        (STEPS, "files: {a.txt: y}}", "files: {b.txt: y}}"),
        (STEPS, "holds: {a.txt: y}", "holds: {a.txt: x}"),
        (STEPS, "holds: {a.txt: y}", "holds: {c.txt: y}"),
        (WAITING, "because: rule 1", "because: rule 2"),
        (WAITING, "about: /repo/a.txt", "about: /repo/b.txt"),
        (WAITING, "inbox: [a]", "inbox: []"),
        (WAITING, "expect: open", "expect: approved"),
        (WAITING, "says: [a.txt]", "says: [b.txt]"),
        (WAITING, "do: approve, by: ben, expect: pending", "do: reject, by: ben, expect: pending"),
        (WAITING, "because: approved", "because: bypass"),
        (WAITING, "conflict, says: by ben", "conflict, says: by ada"),
        (WAITING, "start: a, expect: running", "start: a, expect: conflict"),
        (WAITING, "restart: true", "wait: 5"),
        (WAITING, "hides: [ada]", "hides: [a.txt]"),
        (FAULTY, "needs the", "wants the"),
        (FAULTY, "call_unreadable", "path_unreadable"),
        (FAULTY, "fault: needs the argument", "expect: deny"),
    ],
)
def test_a_wrong_expectation_is_noticed(text: str, right: str, wrong: str, tmp_path: Path) -> None:
    assert right in text
    for name, written, holds in (("right", text, True), ("wrong", text.replace(right, wrong), False)):
        (tmp_path / name).mkdir()
        case = read_cases(read(tmp_path, written)).cases[0]
        assert (run_case(case, tmp_path / name, LibraryDoor()) == []) is holds, name


@pytest.mark.parametrize(
    ("given", "step", "words"),
    [
        ("{open_sessions: [main]}", "", "must be a table of sessions"),
        ("{group: jobs}", "", "'group' is not for 'calls' here"),
        ("{open_sessions: {main: {}}, source: cron}", "", "'source' is not for 'calls' here"),
        ("{open_sessions: {main: {agnet: x}}}", "", "unknown key 'agnet'"),
        ("{open_sessions: {main: {parent: top}}}", "", "there is no session 'top'"),
        ("{open_sessions: {main: {source: tv}}}", "", "the session 'main' cannot be opened"),
        (
            "{}",
            "{ask: b, tool: x, session: top, expect: pending}",
            "9: this step cannot be carried out: there is no session",
        ),
        ("{}", "{end_session: top}", "there is no session 'top'"),
        ("{}", "{answer: a, do: approve, request: 2, expect: pending}", "has 1 requests, and none of number 2"),
        ("{}", "{context: main, to: {allow: x}}", "this step cannot be carried out"),
        ("{policy: 'version = 1'}", "{rules: []}", "not a whole 'policy'"),
    ],
)
def test_a_step_that_cannot_be_carried_out_is_named(given: str, step: str, words: str, tmp_path: Path) -> None:
    text = f"""
given: {{rules: [{{tool: "*", action: ask}}]}}
cases:
  - it: x
    given: {given}
    calls:
      - {{restart: true}}
      - {{ask: a, tool: write_file, args: {{path: a.txt}}, expect: awaiting_approval}}
      - {step or "{restart: true}"}
"""
    case = read_cases(read(tmp_path, text)).cases[0]
    (tmp_path / "root").mkdir()
    with pytest.raises(BadInput) as caught:
        run_case(case, tmp_path / "root", LibraryDoor())
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path}/table.yaml:")


@pytest.mark.parametrize("name", ["/proc/x", "../x", "/dev/shm/x"])
def test_nothing_is_made_outside_of_the_root(name: str, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    text = f"given: {{files: {{{name}: x}}}}\ncases:\n  - it: x\n    {CALL}\n    expect: ask\n"
    case = read_cases(read(tmp_path, text)).cases[0]
    with pytest.raises(BadInput, match="cannot be made"):
        run_case(case, tmp_path / "root", LibraryDoor())


@pytest.mark.parametrize(
    ("workspace", "path", "about"),
    [("", "a", "/repo/a"), ("sub", "a", "/repo/sub/a"), ("..", "a", "/repo/a"), ("../..", "a", "/repo/a")],
)
def test_a_policy_is_put_so_that_its_workspace_is_in_place(
    workspace: str, path: str, about: str, tmp_path: Path
) -> None:
    (tmp_path / "one" / "two" / "cases").mkdir(parents=True)
    (tmp_path / "root").mkdir()
    named = f'workspace = "{workspace}"\n' if workspace else ""
    (tmp_path / "one" / "two" / "stanch.toml").write_text(f"version = 1\n{named}", "utf-8")
    text = f"""
given: {{policy: ../stanch.toml, files: {{kept.txt: x}}}}
cases:
  - it: x
    call: {{tool: read_file, args: {{path: {path}}}}}
    expect: allow
    because: read_grant
    about: {about}
"""
    case = read_cases(read(tmp_path / "one" / "two" / "cases", text)).cases[0]
    assert run_case(case, tmp_path / "root", LibraryDoor()) == []
    assert (tmp_path / "root" / about.removeprefix("/")).with_name("kept.txt").is_file()
